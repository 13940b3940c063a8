//! One HTTP/1.1 connection that is kept, and made anew when it breaks.

use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context as _, anyhow, bail};
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Bytes;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// Nothing here takes longer than this, unless it is lost.
const PATIENCE: Duration = Duration::from_secs(10);

/// Where the service listens.
#[derive(Debug, Clone)]
pub struct Address {
    /// Name and port.
    pub authority: String,
    /// The port.
    pub port: u16,
}

impl FromStr for Address {
    type Err = anyhow::Error;

    fn from_str(url: &str) -> anyhow::Result<Self> {
        let rest = url.strip_prefix("http://").ok_or_else(|| anyhow!("--url begins with http://"))?;
        let authority = rest.trim_end_matches('/');
        if authority.contains('/') {
            bail!("--url names a service, without a path");
        }
        let port = authority.rsplit_once(':').map_or(Ok(80), |(_, port)| port.parse()).context("the port of --url")?;
        let authority = if authority.contains(':') { authority.to_owned() } else { format!("{authority}:80") };
        Ok(Self { authority, port })
    }
}

/// A connection.
pub struct Client {
    address: Arc<Address>,
    sender: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    /// Connects.
    pub async fn connect(address: Arc<Address>) -> anyhow::Result<Self> {
        let sender = Some(open(&address).await?);
        Ok(Self { address, sender })
    }

    /// Sends a request and reads its answer: the status and the body.
    pub async fn call(
        &mut self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: &str,
    ) -> Result<(u16, Bytes), String> {
        let answer = tokio::time::timeout(PATIENCE, self.exchange(method, path, token, body)).await;
        let answer = answer.unwrap_or_else(|_| Err("no answer in 10 s".to_owned()));
        if answer.is_err() {
            self.sender = None;
        }
        answer
    }

    async fn exchange(
        &mut self,
        method: &str,
        path: &str,
        token: Option<&str>,
        body: &str,
    ) -> Result<(u16, Bytes), String> {
        let mut request = Request::builder().method(method).uri(path).header("host", &self.address.authority);
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        let request = request.body(Full::new(Bytes::copy_from_slice(body.as_bytes()))).map_err(|e| e.to_string())?;
        if self.sender.as_ref().is_none_or(SendRequest::is_closed) {
            self.sender = Some(open(&self.address).await.map_err(|e| e.to_string())?);
        }
        let Some(sender) = &mut self.sender else { return Err("not connected".to_owned()) };
        sender.ready().await.map_err(|e| e.to_string())?;
        let answer = sender.send_request(request).await.map_err(|e| e.to_string())?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await.map_err(|e| e.to_string())?;
        Ok((status, body.to_bytes()))
    }

    /// A new guest's access token.
    pub async fn guest(&mut self) -> anyhow::Result<String> {
        let (status, body) = self.call("POST", "/v1/guests", None, "").await.map_err(|e| anyhow!(e))?;
        text(&body, "access_token").with_context(|| format!("answer {status} to POST /v1/guests"))
    }

    /// Begins a game between two players; its id.
    pub async fn begin(&mut self, tokens: &[String; 2], options: &str) -> Result<String, String> {
        let (status, body) = self.call("POST", "/v1/tables", Some(&tokens[0]), options).await?;
        let table = text(&body, "id").ok_or(format!("{status} to POST /v1/tables"))?;
        let (status, body) = self.call("POST", &format!("/v1/tables/{table}/seat"), Some(&tokens[1]), "").await?;
        text(&body, "game_id").ok_or(format!("{status} to POST /v1/tables/…/seat"))
    }
}

async fn open(address: &Address) -> anyhow::Result<SendRequest<Full<Bytes>>> {
    let stream =
        TcpStream::connect(&address.authority).await.with_context(|| format!("connect to {}", address.authority))?;
    stream.set_nodelay(true)?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

fn text(body: &[u8], name: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_slice(body).ok()?;
    value[name].as_str().map(str::to_owned)
}
