//! Bodies while their requests are read, wait and are answered.

use std::{num::NonZeroUsize, sync::Arc};

use super::client::{PausingModel, Wire, completions_within, config, eventually, hi, longer, streamed_hi};
use crate::{Limits, Server};

#[tokio::test]
async fn a_body_counts_until_its_request_is_answered() {
    let model = Arc::new(PausingModel::default());
    let one_at_a_time = Limits { concurrent: NonZeroUsize::MIN, ..Limits::default() };
    let completions = completions_within(one_at_a_time, model.clone());
    let server = Server::start(config(), completions.clone()).await.unwrap();
    let ((streamed, streamed_bytes), (whole, whole_bytes), (other, other_bytes)) =
        (longer(streamed_hi(), 1000), longer(hi(), 2000), longer(hi(), 4000));

    let mut first = Wire::connect(&server).await;
    first.send(streamed).await;
    assert_eq!(first.answer_head().await.status, 200);
    assert_eq!(server.buffered_bytes(), streamed_bytes, "in the middle of a stream");

    let mut second = Wire::connect(&server).await;
    second.send(whole).await;
    eventually("the second waits", || completions.queued() == 1).await;
    let mut third = Wire::connect(&server).await;
    third.send(other).await;
    eventually("the third waits", || completions.queued() == 2).await;
    assert_eq!(server.buffered_bytes(), streamed_bytes + whole_bytes + other_bytes, "in the queue");

    drop(third);
    eventually("the third is gone", || completions.queued() == 1).await;
    eventually("its body is, too", || server.buffered_bytes() == streamed_bytes + whole_bytes).await;

    model.go_on();
    while !first.piece().await.contains("[DONE]") {}
    eventually("the second is generated", || completions.queued() == 0).await;
    eventually("the first is answered", || server.buffered_bytes() == whole_bytes).await;

    model.go_on();
    assert_eq!(second.answer().await.status, 200);
    eventually("nothing is held", || server.buffered_bytes() == 0).await;
}
