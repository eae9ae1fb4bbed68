//! Asks the runner for faults. They concern the proxy only.

use std::io::{Read, Write};
use std::net::TcpStream;

pub struct Control {
    /// host:port, from an URL without a path.
    pub address: String,
}

impl Control {
    pub fn post(&self, path: &str) -> Result<(), String> {
        let reply = self
            .exchange(path)
            .map_err(|e| format!("POST {path}: {e}"))?;
        if reply.split(' ').nth(1) == Some("200") {
            Ok(())
        } else {
            Err(format!("POST {path}: {reply}"))
        }
    }

    fn exchange(&self, path: &str) -> std::io::Result<String> {
        let mut stream = TcpStream::connect(&self.address)?;
        let host = &self.address;
        write!(
            stream,
            "POST {path} HTTP/1.1\r\nHost: {host}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )?;
        let mut reply = String::new();
        stream.read_to_string(&mut reply)?;
        Ok(reply)
    }
}
