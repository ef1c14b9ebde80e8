//! A server under test, and a minimal HTTP client.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::time::Duration;
#[cfg(unix)]
use std::time::Instant;

use serde_json::Value;

#[cfg(unix)]
use super::Ran;
use super::Scratch;

/// A running server; killed on drop if it was not stopped.
pub(super) struct Server {
    child: Option<Child>,
    pub(super) address: SocketAddr,
}

impl Server {
    /// Serves the index `i` of the folder on a free port.
    pub(super) fn start(scratch: &Scratch, options: &[&str]) -> Self {
        let arguments = [&["i", "--listen", "127.0.0.1:0"], options].concat();
        Self::with_arguments(scratch, &arguments)
    }

    pub(super) fn with_arguments(scratch: &Scratch, arguments: &[&str]) -> Self {
        let command = scratch.command(&[&["serve"], arguments].concat());
        Self::spawn(command)
    }

    pub(super) fn spawn(mut command: std::process::Command) -> Self {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        // Read byte by byte, so that later output stays in the pipe and not in a buffer.
        let stdout = child.stdout.as_mut().unwrap();
        let mut byte = [0];
        while !line.ends_with('\n') && stdout.read(&mut byte).unwrap() == 1 {
            line.push(char::from(byte[0]));
        }
        let url = line.split("http://").nth(1).unwrap_or_else(|| panic!("it printed {line:?}"));
        let address: String =
            url.chars().take_while(|c| c.is_ascii_digit() || ".:".contains(*c)).collect();
        Self { child: Some(child), address: address.parse().unwrap() }
    }

    pub(super) fn child(&mut self) -> &mut Child {
        self.child.as_mut().unwrap()
    }

    pub(super) fn connect(&self) -> Client {
        Client::new(self.address)
    }

    /// Sends one request on a new connection.
    pub(super) fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.connect().ask(method, path, body)
    }

    #[cfg(unix)]
    pub(super) fn signal(&self, signal: &str) {
        crate::signal(self.child.as_ref().unwrap().id(), signal);
    }

    /// Stops the server with a signal, and checks its message and exit status.
    #[cfg(unix)]
    pub(super) fn stop(self) -> Ran {
        self.signal("-TERM");
        self.ends().ends_with(0)
    }

    #[cfg(not(unix))]
    pub(super) fn stop(mut self) {
        self.child().kill().unwrap();
    }

    /// Waits until the server exits; the test fails at the timeout.
    #[cfg(unix)]
    pub(super) fn ends(mut self) -> Ran {
        let mut child = self.child.take().unwrap();
        let began = Instant::now();
        while child.try_wait().unwrap().is_none() {
            assert!(began.elapsed() < Duration::from_secs(60), "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
        Ran::new(child.wait_with_output().unwrap())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A response.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) head: String,
    pub(super) body: Vec<u8>,
}

impl Answer {
    #[track_caller]
    pub(super) fn has(self, status: u16) -> Self {
        let body = String::from_utf8_lossy(&self.body);
        assert_eq!(self.status, status, "{}\n{body}", self.head);
        self
    }

    #[track_caller]
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// Checks that the response is a JSON error with this status and kind.
    #[track_caller]
    pub(super) fn fails(self, status: u16, kind: &str) -> Self {
        let answer = self.has(status);
        let json = answer.json();
        assert_eq!(json["error"]["kind"], kind, "{json}");
        assert!(json["error"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{json}");
        answer
    }

    /// The objects of lines of JSON. A slow answer may end with blanks, which are no line.
    #[track_caller]
    pub(super) fn lines(&self) -> Vec<Value> {
        let text = self.text();
        let lines = text.lines().filter(|line| !line.trim().is_empty());
        lines.map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(super) fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }
}

/// A persistent connection.
pub(super) struct Client {
    stream: BufReader<TcpStream>,
    host: String,
}

impl Client {
    pub(super) fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream: BufReader::new(stream), host: address.to_string() }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.stream.get_mut().write_all(bytes)
    }

    pub(super) fn ask(&mut self, method: &str, path: &str, body: Option<&Value>) -> Answer {
        self.ask_with(method, path, "", body)
    }

    /// Sends a request with extra headers, each with its line end.
    pub(super) fn ask_with(
        &mut self,
        method: &str,
        path: &str,
        headers: &str,
        body: Option<&Value>,
    ) -> Answer {
        let host = self.host.clone();
        let mut request = format!("{method} {path} HTTP/1.1\r\nHost: {host}\r\n{headers}");
        let body = body.map(Value::to_string);
        if let Some(body) = &body {
            let length = body.len().to_string();
            let kind = "Content-Type: application/json\r\nContent-Length: ";
            request.extend([kind, &length, "\r\n"]);
        }
        request += "\r\n";
        request += &body.unwrap_or_default();
        self.send(request.as_bytes()).unwrap();
        self.answer().unwrap()
    }

    /// Reads the head of a response.
    pub(super) fn head(&mut self) -> std::io::Result<String> {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if self.stream.read_line(&mut head)? == 0 {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(head)
    }

    /// Reads a response; fails if the connection ends first.
    pub(super) fn answer(&mut self) -> std::io::Result<Answer> {
        let head = self.head()?;
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let lower = head.to_lowercase();
        if lower.contains("transfer-encoding: chunked") {
            let body = self.chunks()?;
            return Ok(Answer { status, head, body });
        }
        let length = lower.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
        let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
        self.stream.read_exact(&mut body)?;
        Ok(Answer { status, head, body })
    }

    /// Reads a body in chunks; fails if the last chunk is missing.
    pub(super) fn chunks(&mut self) -> std::io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let mut line = String::new();
            self.stream.read_line(&mut line)?;
            let Ok(length) = usize::from_str_radix(line.trim(), 16) else {
                return Err(std::io::ErrorKind::UnexpectedEof.into());
            };
            let mut chunk = vec![0; length + 2];
            self.stream.read_exact(&mut chunk)?;
            if length == 0 {
                return Ok(body);
            }
            body.extend_from_slice(&chunk[..length]);
        }
    }
}
