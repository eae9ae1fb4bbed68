//! The versions that Cargo.lock pins.

const LOCK: &str = include_str!("../Cargo.lock");

/// The newest pinned version of a package; another library may want an older one.
pub fn of(package: &str) -> String {
    let entry = format!("name = \"{package}\"\nversion = \"");
    match LOCK.rsplit_once(&entry) {
        Some((_, rest)) => rest.split('"').next().unwrap_or_default().into(),
        None => panic!("{package} is not in Cargo.lock"),
    }
}
