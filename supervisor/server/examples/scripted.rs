//! Serves models that play scripts: `scripted FILE`, with a JSON object of model names and their scripts.
//!
//! The first line it writes is the base URL for OpenAI's clients. It ends when its input ends.

use std::{error::Error, io::Write, sync::Arc};

use oam_agent::{Script, ScriptedModel};
use oam_server::{Completions, CompletionsConfig, Limits, ServedModel, Server, ServerConfig, TcpAddress};
use serde_json::{Map, Value};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: scripted FILE")?;
    let scripts: Map<String, Value> = serde_json::from_slice(&std::fs::read(path)?)?;
    let models: Vec<_> =
        scripts.iter().map(|(name, script)| model(name, script)).collect::<Result<_, _>>()?;
    let completions = Completions::new(CompletionsConfig {
        default_model: models.first().map(|model| model.id.clone()).unwrap_or_default(),
        models,
        aliases: [].into(),
        tools: Vec::new(),
        instructions: None,
        limits: Limits { retries: 0, ..Limits::default() },
    })?;
    let tcp = Some(TcpAddress { host: "127.0.0.1".to_owned(), port: 0 });
    let server = Server::start(ServerConfig { tcp, ..ServerConfig::default() }, completions).await?;
    let address = server.tcp_address().ok_or("no address")?;
    writeln!(std::io::stdout(), "http://{address}/v1")?;
    tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink())).await??;
    Ok(())
}

fn model(name: &str, script: &Value) -> Result<ServedModel, Box<dyn Error>> {
    let script = Script::from_steps_or_object(script, name)?;
    let model = Arc::new(ScriptedModel::new(script));
    Ok(ServedModel { id: name.to_owned(), owned_by: "scripts".to_owned(), model })
}
