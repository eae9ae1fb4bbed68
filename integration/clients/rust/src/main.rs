//! Runs every library through every scenario, against the plain server and the
//! proxy, and prints a line for each. See ../README.md.

mod contention;
mod control;
mod library;
mod plain;
mod raw;
mod red_lock;
mod rs_lock;
mod scenario;
mod stage;
mod versions;

use control::Control;
use library::{Endpoint, Library};
use scenario::Scenario;
use stage::{Stage, Stop};

fn main() {
    let suite = Suite {
        proxy: endpoint("PROXY", true),
        plain: endpoint("PLAIN", false),
        control: Control {
            address: env("CONTROL_URL").trim_start_matches("http://").into(),
        },
    };
    let libraries: [&dyn Library; 4] = [
        &plain::Plain {
            name: "redis-rs, plain scripts",
            options: "",
        },
        &plain::Plain {
            name: "redis-rs, plain scripts, RESP3",
            options: "?protocol=resp3",
        },
        &rs_lock::RsLock,
        &red_lock::RedLock,
    ];
    for library in libraries {
        for (label, scenario) in scenario::ALL {
            let (result, detail) = suite.compare(library, scenario);
            print(library, label, result, &detail);
        }
    }
}

struct Suite {
    proxy: Endpoint,
    plain: Endpoint,
    control: Control,
}

impl Suite {
    fn compare(&self, library: &dyn Library, scenario: Scenario) -> (&'static str, String) {
        let mut one = Stage::new(library, &self.plain, &self.control);
        let mut many = Stage::new(library, &self.proxy, &self.control);
        for stage in [&mut one, &mut many] {
            match scenario(stage) {
                Ok(()) => {}
                Err(Stop::NotOffered(why)) => return ("unsupported", format!("library: {why}")),
                Err(Stop::Broke(why)) => stage.faults.push(why),
            }
        }
        if one.seen == many.seen && one.faults.is_empty() && many.faults.is_empty() {
            return ("pass", String::new());
        }
        (
            "differs",
            format!("proxy: {}; plain: {}", many.report(), one.report()),
        )
    }
}

fn endpoint(which: &str, faults: bool) -> Endpoint {
    let port = env(&format!("{which}_PORT"))
        .parse()
        .expect("a port number");
    Endpoint {
        host: env(&format!("{which}_HOST")),
        port,
        faults,
    }
}

fn env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| {
        panic!("{name} is not set: start this suite by the runner (../README.md)")
    })
}

fn print(library: &dyn Library, scenario: &str, result: &str, detail: &str) {
    let fields = [
        ("language", "rust"),
        ("library", library.name()),
        ("version", &library.version()),
        ("scenario", scenario),
        ("result", result),
        ("detail", detail),
    ];
    let fields: Vec<String> = fields
        .iter()
        .map(|(k, v)| format!("\"{k}\":\"{}\"", escape(v)))
        .collect();
    println!("{{{}}}", fields.join(","));
}

fn escape(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            c if c < ' ' => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
