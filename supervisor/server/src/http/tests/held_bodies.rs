//! Bodies while their requests are read, wait and are answered.

use std::{num::NonZeroUsize, sync::Arc};

use serde_json::{Value, json};

use super::client::{
    PausingModel, Wire, completions_within, config, eventually, get, hi, post, start, streamed_hi,
};
use crate::{Limits, Server};

/// A request with `more` bytes that the model does not see, and the length of its body.
fn longer(mut body: Value, more: usize) -> (Vec<u8>, usize) {
    body["user"] = json!("x".repeat(more));
    (post(&body, ""), body.to_string().len())
}

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

#[test]
fn a_large_body_is_read_where_nobody_waits_for_it() {
    // All that is done beside the requests waits for one thread.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let server = start(config()).await;
        let (go_on, told) = std::sync::mpsc::channel::<()>();
        let busy = tokio::task::spawn_blocking(move || told.recv());
        let (request, bytes) = longer(hi(), 1 << 20);
        let mut large = Wire::connect(&server).await;
        large.send(request).await;
        eventually("the large body is there", || server.buffered_bytes() == bytes).await;

        let mut small = Wire::connect(&server).await;
        assert_eq!(small.ask(post(&hi(), "")).await.status, 200);
        assert_eq!(small.ask(get("/health", "")).await.status, 200);
        assert_eq!(server.buffered_bytes(), bytes, "the large body is not read yet");

        drop(go_on);
        busy.await.unwrap().unwrap_err();
        assert_eq!(large.answer().await.status, 200);
    });
}
