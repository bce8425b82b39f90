use std::net::SocketAddr;

use lettre::message::Mailbox;
use lettre::{AsyncSmtpTransport, AsyncTransport as _, Message, Tokio1Executor};

/// The shop's way to send mail.
#[derive(Clone, Debug)]
pub struct Mailer {
    smtp: AsyncSmtpTransport<Tokio1Executor>,
}

/// Why a mail may not have gone out. It may have: send it again with the same id.
#[derive(Debug, thiserror::Error)]
pub enum MailError {
    #[error("the mail server failed")]
    Smtp(#[from] lettre::transport::smtp::Error),
    #[error("not a mail")]
    Message(#[from] lettre::error::Error),
    #[error("not an address")]
    Address(#[from] lettre::address::AddressError),
}

impl Mailer {
    /// Without TLS, for a server on loopback.
    pub fn new(address: SocketAddr) -> Self {
        let smtp =
            AsyncSmtpTransport::<Tokio1Executor>::builder_dangerous(address.ip().to_string())
                .port(address.port())
                .build();
        Self { smtp }
    }

    /// Sends a welcome, and returns its `Message-ID`. That is made from `id`, if
    /// there is one: a mail that is sent again has the same. Otherwise each mail
    /// gets a new one.
    pub async fn send_welcome(&self, to: &str, id: Option<&str>) -> Result<String, MailError> {
        let id = id.map_or_else(|| format!("{:032x}", fastrand::u128(..)), str::to_owned);
        let message_id = format!("<{id}@shop.example>");
        let mail = Message::builder()
            .from(Mailbox::new(
                Some("The shop".into()),
                "hello@shop.example".parse()?,
            ))
            .to(Mailbox::new(None, to.parse()?))
            .subject("Welcome")
            .message_id(Some(message_id.clone()))
            .body(String::from("Welcome to the shop.\n"))?;
        self.smtp.send(mail).await?;
        Ok(message_id)
    }
}
