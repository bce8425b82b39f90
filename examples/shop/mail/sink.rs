//! The part of SMTP (RFC 5321) that a client needs to hand over a mail.

use std::cell::RefCell;
use std::io;
use std::net::Ipv4Addr;
use std::rc::Rc;

use anyhow::Result;
use serde::{Deserialize, Serialize};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, AsyncWrite,
    AsyncWriteExt as _, BufReader,
};
use tokio::net::TcpListener;
use tokio::task::LocalSet;

use super::Report;
use crate::pipe::{self, Heard};

/// RFC 5321 asks for 1,000; a client that sends more gets its connection closed.
const LINE_LIMIT: u64 = 4096;
const MAIL_LIMIT: usize = 1 << 20;

/// A question of the parent's.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ask {
    Report,
}

/// Serves until the parent is gone. Says its address first.
pub async fn serve() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    pipe::say(&listener.local_addr()?);
    let report = Rc::new(RefCell::new(Report::default()));
    let mut parent = Heard::new();
    let connections = LocalSet::new();
    connections
        .run_until(async {
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let (stream, _) = accepted?;
                        // A client that is cut off, or talks nonsense, ends its own connection only.
                        tokio::task::spawn_local(converse(stream, Rc::clone(&report)));
                    }
                    asked = parent.next() => match asked? {
                        Some(Ask::Report) => pipe::say(&*report.borrow()),
                        None => return Ok(()),
                    }
                }
            }
        })
        .await
}

/// What the client has said so far about the mail to come.
#[derive(Default)]
struct Envelope {
    from: bool,
    to: Vec<String>,
}

async fn converse(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    report: Rc<RefCell<Report>>,
) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut envelope = Envelope::default();
    reply(&mut stream, "220 shop.example ESMTP").await?;
    while let Some(line) = read_line(&mut stream).await? {
        let (verb, rest) = line.split_at(line.find([' ', ':']).unwrap_or(line.len()));
        let answer = match verb.to_ascii_uppercase().as_str() {
            "EHLO" => "250-shop.example\r\n250 8BITMIME",
            "HELO" => "250 shop.example",
            "MAIL" => {
                envelope = Envelope {
                    from: true,
                    ..Envelope::default()
                };
                "250 go on"
            }
            "RCPT" => match address(rest) {
                Some(to) if envelope.from => {
                    envelope.to.push(to.to_owned());
                    "250 go on"
                }
                Some(_) => "503 MAIL comes first",
                None => "501 RCPT TO:<address>",
            },
            "DATA" if envelope.to.is_empty() => "503 RCPT comes first",
            "DATA" => {
                reply(&mut stream, "354 end with a dot on a line of its own").await?;
                let Some(mail) = read_mail(&mut stream).await? else {
                    break;
                };
                accept(
                    &mut report.borrow_mut(),
                    std::mem::take(&mut envelope),
                    &mail,
                )
            }
            "RSET" => {
                envelope = Envelope::default();
                "250 forgotten"
            }
            "NOOP" => "250 yes",
            "QUIT" => {
                reply(&mut stream, "221 goodbye").await?;
                break;
            }
            _ => "500 not understood",
        };
        reply(&mut stream, answer).await?;
    }
    Ok(())
}

/// Counts the mail, once for each recipient. Counted is delivered, whether or
/// not the client still hears of it.
fn accept(report: &mut Report, envelope: Envelope, mail: &[String]) -> &'static str {
    let Some(id) = message_id(mail) else {
        return "554 a mail needs a Message-ID here";
    };
    for to in envelope.to {
        report.deliveries += 1;
        report.message_ids.entry(to).or_default().insert(id.clone());
    }
    "250 accepted"
}

/// The `Message-ID` header's value; headers go on over lines that begin with a space.
fn message_id(mail: &[String]) -> Option<String> {
    let mut headers = mail.iter().take_while(|line| !line.is_empty()).peekable();
    while let Some(line) = headers.next() {
        let Some((name, value)) = line.split_once(':') else {
            continue;
        };
        if name.trim_end().eq_ignore_ascii_case("message-id") {
            let mut value = value.to_owned();
            while let Some(more) = headers.next_if(|line| line.starts_with([' ', '\t'])) {
                value.push_str(more);
            }
            return Some(value.trim().to_owned()).filter(|id| !id.is_empty());
        }
    }
    None
}

/// The address in ` TO:<address> …`.
fn address(rest: &str) -> Option<&str> {
    let (_, rest) = rest.split_once('<')?;
    rest.split_once('>')
        .map(|(address, _)| address)
        .filter(|it| !it.is_empty())
}

/// The lines up to the lone dot, or None if the connection ends before it: then
/// there is no mail.
async fn read_mail(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<Vec<String>>> {
    let mut mail = Vec::new();
    let mut size = 0;
    while let Some(line) = read_line(stream).await? {
        if line == "." {
            return Ok(Some(mail));
        }
        size += line.len();
        if size > MAIL_LIMIT {
            return Err(io::Error::other("mail too large"));
        }
        // A dot that begins a line was doubled by the sender.
        mail.push(line.strip_prefix('.').unwrap_or(&line).to_owned());
    }
    Ok(None)
}

async fn read_line(stream: &mut (impl AsyncBufRead + Unpin)) -> io::Result<Option<String>> {
    let mut line = Vec::new();
    (&mut *stream)
        .take(LINE_LIMIT)
        .read_until(b'\n', &mut line)
        .await?;
    // A line without its end was cut off.
    let Some(line) = line.strip_suffix(b"\n") else {
        return Ok(None);
    };
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    Ok(Some(String::from_utf8_lossy(line).into_owned()))
}

async fn reply(stream: &mut (impl AsyncWrite + Unpin), text: &str) -> io::Result<()> {
    stream.write_all(format!("{text}\r\n").as_bytes()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the sink answers, by code, and what it counted.
    async fn talk(said: &str) -> (Vec<String>, Report) {
        let report = Rc::new(RefCell::new(Report::default()));
        let (mut client, server) = tokio::io::duplex(1 << 16);
        client
            .write_all(said.replace('\n', "\r\n").as_bytes())
            .await
            .unwrap();
        client.shutdown().await.unwrap();
        converse(server, Rc::clone(&report)).await.unwrap();
        let mut answers = String::new();
        client.read_to_string(&mut answers).await.unwrap();
        let codes = answers.lines().map(|line| line[..3].to_owned()).collect();
        (codes, report.take())
    }

    #[tokio::test]
    async fn a_mail_sent_twice_is_two_deliveries_of_one_id() {
        let mail = "MAIL FROM:<a@x>\nRCPT TO:<b@x>\nDATA\nSubject: s\nmessage-id:\n <1@x>\n\n..\nMessage-ID: <2@x>\n.\n";
        let (codes, report) = talk(&format!("EHLO x\n{mail}{mail}QUIT\n")).await;
        let once = ["250", "250", "354", "250"];
        assert_eq!(
            codes,
            [["220", "250", "250"].as_slice(), &once, &once, &["221"]].concat()
        );
        assert_eq!(report.deliveries, 2);
        assert_eq!(report.message_ids["b@x"], ["<1@x>".to_owned()].into());
    }

    #[tokio::test]
    async fn a_mail_that_is_cut_off_is_none() {
        for end in ["", "\n", "\n."] {
            let (_, report) = talk(&format!(
                "HELO x\nMAIL FROM:<a@x>\nRCPT TO:<b@x>\nDATA\nMessage-ID: <1@x>{end}"
            ))
            .await;
            assert_eq!(report.deliveries, 0, "{end:?}");
        }
    }

    #[tokio::test]
    async fn what_is_out_of_order_is_refused() {
        let said = "NOOP\nRCPT TO:<b@x>\nDATA\nMAIL FROM:<a@x>\nRCPT TO:\nRCPT TO:<b@x>\nRSET\nDATA\nTURN\n";
        let (codes, _) = talk(said).await;
        assert_eq!(
            codes,
            [
                "220", "250", "503", "503", "250", "501", "250", "250", "503", "500"
            ]
        );
    }
}
