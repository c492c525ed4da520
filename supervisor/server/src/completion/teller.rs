//! How a client is told of a completion.

use std::fmt::Debug;

use bytes::Bytes;

use super::completed::Completed;
use crate::api_error::ApiError;

/// Tells of one completion in the words of an API: as a whole, or as it goes on. Events are written behind others.
pub(crate) trait Teller: Debug + Send + 'static {
    /// The body of an answer that is not streamed.
    fn whole(self: Box<Self>, completed: Completed) -> Bytes;
    /// There is going to be an answer. Comes first, and once.
    fn begin(&mut self, events: &mut Vec<u8>);
    /// The text of the answer goes on.
    fn piece(&mut self, text: &str, events: &mut Vec<u8>);
    /// Everything that comes behind the text. Comes last, and once.
    fn end(&mut self, end: Result<Completed, ApiError>, events: &mut Vec<u8>);
}
