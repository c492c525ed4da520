//! A turn's way to the client: its events as notifications, its client tools as `tool/call` requests.

use std::{borrow::Cow, collections::BTreeMap, sync::Arc};

use oam_agent::{
    Agent, AgentError, CallId, FinishedTurn, ToolCall, ToolOutput, TurnClient, TurnEvent, TurnHost,
    TurnOptions, TurnResponse,
};
use oam_game::{DialogueEvent, DialogueHost, DialogueTurn, Npc, PlayerLine};
use tokio::sync::oneshot;

use crate::{
    bridge::Bridge,
    client_calls::ClientCallId,
    message::{EventContext, Members, Outgoing, Payload},
    outbox::Growth,
    queue::Operation,
    session::Session,
};

const TURN_ENDED: &str = "The turn ended before the tool finished.";

/// A turn that a client asked for.
#[derive(Debug)]
pub struct ClientTurn<'a> {
    /// The bridge that the client is connected to.
    pub bridge: &'a Bridge,
    /// What events and client calls carry: the object's id and `requestId`.
    pub context: Arc<EventContext>,
    /// The queued operation that the turn is, if it is one: the turn commits it.
    pub operation: Option<Operation>,
}

impl ClientTurn<'_> {
    /// Runs the turn; with `options.stream` the client hears its events. Dropping the future cancels it: open
    /// client calls get `tool/cancel`.
    pub async fn run(
        self,
        agent: &Agent,
        prompt: &str,
        options: &TurnOptions,
    ) -> Result<TurnResponse, AgentError> {
        self.host(options.stream).respond(agent, prompt, options).await
    }

    /// Runs a turn of a session that a client created.
    pub(crate) async fn run_in(
        self,
        session: &Session,
        prompt: &str,
        options: &TurnOptions,
    ) -> Result<TurnResponse, AgentError> {
        let mut host = self.host(options.stream);
        host.session = Some(session);
        host.respond(&session.agent, prompt, options).await
    }

    /// Has `npc` answer `player`; a streamed line's events go to the client. Dropping the future cancels the turn:
    /// open client calls get `tool/cancel`.
    pub async fn talk(self, npc: &Npc, player: &PlayerLine) -> Result<DialogueTurn, AgentError> {
        let mut host = self.host(player.stream);
        let end = npc.talk(player, &mut host).await;
        host.warn_of_lost_workers(&end);
        end
    }
}

impl<'a> ClientTurn<'a> {
    fn host(self, is_heard: bool) -> ClientHost<'a> {
        let Self { bridge, context, operation } = self;
        let members = context.members().clone();
        let events = is_heard.then_some(context);
        ClientHost { bridge, members, events, operation, session: None, calls: BTreeMap::new() }
    }
}

/// The host of a turn outside of any queue whose events nobody hears: only its client calls go out, with `members`.
pub(crate) fn calls_only(bridge: &Bridge, members: Members) -> impl TurnHost {
    ClientHost { bridge, members, events: None, operation: None, session: None, calls: BTreeMap::new() }
}

struct ClientHost<'a> {
    bridge: &'a Bridge,
    /// What client calls carry.
    members: Members,
    /// What events carry; `None` when the client does not hear them.
    events: Option<Arc<EventContext>>,
    operation: Option<Operation>,
    /// Whose turn it is, if a client created it: it keeps what was said.
    session: Option<&'a Session>,
    /// The turn's client calls, answered ones included, in the order their cancellations are sent.
    calls: BTreeMap<CallId, ClientCallId>,
}

impl ClientHost<'_> {
    async fn respond(
        mut self,
        agent: &Agent,
        prompt: &str,
        options: &TurnOptions,
    ) -> Result<TurnResponse, AgentError> {
        let end = agent.respond_with(prompt, options, &mut self).await;
        self.warn_of_lost_workers(&end);
        end
    }

    /// Here it is known whose request it was.
    fn warn_of_lost_workers<T>(&self, end: &Result<T, AgentError>) {
        if let Err(AgentError::Model(error)) = end
            && error.data.contains_key("workerCrashes")
        {
            tracing::warn!("{}: {error}", self.members.for_log());
        }
    }

    fn withdraw(&self, id: ClientCallId, call_id: &CallId, reason: &str) {
        if self.bridge.client_calls().close(id) {
            let params = self.members.clone().with("id", &id).with("callId", call_id);
            let params = params.payload_with("reason", reason);
            self.bridge.outbox().push(Outgoing::Notification { method: "tool/cancel", params: &params });
        }
    }
}

impl TurnHost for ClientHost<'_> {
    fn event(&mut self, event: TurnEvent) {
        let Some(context) = &self.events else { return };
        let outbox = self.bridge.outbox();
        match &event {
            TurnEvent::Text(text) => outbox.push_growth(context, Growth::Text(Cow::Borrowed(text))),
            event => outbox.push(Outgoing::Event { context, event: &Payload::of(event) }),
        }
    }
}

impl DialogueHost for ClientHost<'_> {
    fn event(&mut self, event: DialogueEvent) {
        let Some(context) = &self.events else { return };
        let outbox = self.bridge.outbox();
        match event {
            DialogueEvent::LineDelta { delta } => {
                outbox.push_growth(context, Growth::LineDelta(delta.into()));
            }
            DialogueEvent::LineReset { line } => outbox.push_growth(context, Growth::LineReset(line.into())),
            event => outbox.push(Outgoing::Event { context, event: &Payload::of(&event) }),
        }
    }
}

impl TurnClient for ClientHost<'_> {
    fn call_client(&mut self, call: &Arc<ToolCall>) -> oneshot::Receiver<ToolOutput> {
        let params = self.members.payload_with("call", &**call);
        let (id, answer) = self.bridge.client_calls().open(|id| {
            let request = Outgoing::Request { id: &id.to_string(), method: "tool/call", params: &params };
            self.bridge.outbox().push(request);
        });
        self.calls.insert(call.id.clone(), id);
        answer
    }

    fn abandon_client_call(&mut self, call: &ToolCall, reason: &str) {
        if let Some(id) = self.calls.remove(&call.id) {
            self.withdraw(id, &call.id, reason);
        }
    }

    fn step_interrupted(&mut self, why: &str) {
        let turn = self.members.for_log();
        tracing::warn!("{turn}: a step was played again, because {why}");
    }

    fn commit(&mut self) -> bool {
        self.operation.as_ref().is_none_or(|operation| operation.commit().is_ok())
    }

    fn record(&mut self, turn: FinishedTurn<'_>) {
        match self.session {
            Some(session) => session.keep_turn(turn),
            None => turn.keep(),
        }
    }
}

impl Drop for ClientHost<'_> {
    fn drop(&mut self) {
        for (call_id, id) in &self.calls {
            self.withdraw(*id, call_id, TURN_ENDED);
        }
    }
}
