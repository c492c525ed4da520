//! Something between a conversation and its model.

use crate::{
    error::ModelError,
    model::{Availability, BoxFuture, Capabilities, Model, StepOutcome, StepRequest, StepSink},
};

/// A [`Model`] that has its steps played by another one, and does something about them. In all else it is that other one.
pub trait ModelLayer: Send + Sync {
    /// The model below.
    fn below(&self) -> &dyn Model;

    /// Has a step played; what [`Model::step`] promises holds here, too.
    fn pass_step<'a>(
        &'a self,
        request: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>>;
}

impl<L: ModelLayer> Model for L {
    fn step<'a>(
        &'a self,
        request: StepRequest,
        sink: &'a mut dyn StepSink,
    ) -> BoxFuture<'a, Result<StepOutcome, ModelError>> {
        self.pass_step(request, sink)
    }

    fn availability(&self) -> Availability {
        self.below().availability()
    }

    fn context_size(&self) -> Option<u32> {
        self.below().context_size()
    }

    fn count_tokens<'a>(&'a self, request: &'a StepRequest) -> BoxFuture<'a, Option<u32>> {
        self.below().count_tokens(request)
    }

    fn prewarm(&self, instructions: Option<&str>) {
        self.below().prewarm(instructions);
    }

    fn capabilities(&self) -> Capabilities {
        self.below().capabilities()
    }
}
