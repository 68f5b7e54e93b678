//! The protocol over standard input and output, for agents on a desktop.

use std::sync::Arc;

use rmcp::serve_server;
use tokio::io::{AsyncRead, AsyncWrite};

use super::Agent;
use crate::service::Service;

/// Why a session ended before its time.
#[derive(Debug, thiserror::Error)]
#[error("the agent does not speak the Model Context Protocol: {0}")]
pub struct McpError(String);

/// Answers one agent, a message a line, until its input ends. Then the
/// service's threads end.
///
/// # Errors
/// When what comes in is not the protocol.
pub async fn run_mcp(
    service: Service,
    input: impl AsyncRead + Send + Unpin + 'static,
    output: impl AsyncWrite + Send + Unpin + 'static,
) -> Result<(), McpError> {
    let app = service.app;
    let agent = Agent {
        app: Arc::clone(&app),
    };
    let ended = match serve_server(agent, (input, output)).await {
        Ok(running) => running
            .waiting()
            .await
            .map(drop)
            .map_err(|error| error.to_string()),
        Err(rmcp::service::ServerInitializeError::ConnectionClosed(_)) => Ok(()),
        Err(error) => Err(error.to_string()),
    };
    // What runs is waited for, which no async thread may do.
    let closed = tokio::task::spawn_blocking(move || app.close());
    let _ = closed.await;
    ended.map_err(McpError)
}
