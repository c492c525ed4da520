//! `oam stdio --connect`: the process's own input and output, joined to the socket of the service.
//!
//! Bytes go both ways as they are. What ends a bridge on these streams ends this, with the same exit code. One thing more can
//! happen: the service is lost. It has ended the connection in good order if it still takes what is sent, and is gone
//! otherwise.

use std::{
    io::{self, ErrorKind},
    pin::pin,
    process::ExitCode,
    time::Duration,
};

use oam_bridge::transport::{
    End,
    stdio::{StdioHandles, StopSignals, take_stdio},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, Interest},
    net::{UnixStream, unix::OwnedReadHalf},
    time::timeout,
};

use crate::{
    failure::{Failure, FailureCode},
    logging,
    service::reach::{MayStart, Reach},
};

use super::StdioArguments;

/// As much as a pipe holds.
const BUFFER_BYTES: usize = 64 << 10;
/// How long the last messages have to arrive after a signal, as in a bridge of the process's own.
const FLUSH_TIME: Duration = Duration::from_secs(2);
/// How long the system may take to tell whether the other side is gone.
const LOOK_TIME: Duration = Duration::from_millis(100);

pub(super) fn run(arguments: &StdioArguments) -> ExitCode {
    let _logging = logging::init(Some("oam stdio"), arguments.log_level);
    let may_start = if arguments.no_start { MayStart::No } else { MayStart::InItsFolder };
    let socket = arguments.connect.as_ref().and_then(Option::as_deref);
    let ended = Reach::new(socket, "--connect", may_start).and_then(|reach| pipe(&reach));
    match ended {
        Ok(end) => ExitCode::from(end.exit_code()),
        Err(failure) => {
            tracing::error!("{failure}");
            ExitCode::from(failure.code.exit_code())
        }
    }
}

fn pipe(reach: &Reach) -> Result<End, Failure> {
    super::greet_terminal();
    let handles = take_stdio().map_err(|error| cannot_pipe(&error))?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| cannot_pipe(&error))?;
    let end = runtime.block_on(async {
        let mut signals = StopSignals::listen().map_err(|error| cannot_pipe(&error))?;
        tokio::select! {
            biased;
            signal = signals.take() => Ok(End::Stopped(signal)),
            service = reach.connect() => exchange(handles, service?, &mut signals).await
        }
    });
    // A thread that reads a terminal cannot be interrupted, and nothing that still runs matters now.
    runtime.shutdown_background();
    end
}

fn cannot_pipe(error: &io::Error) -> Failure {
    Failure::io(format!("cannot join standard input and output to the service: {error}"))
}

/// Carries everything both ways until one of them ends.
async fn exchange(
    handles: StdioHandles,
    service: UnixStream,
    signals: &mut StopSignals,
) -> Result<End, Failure> {
    // What is left of the streams puts the modes of the descriptors back in the end.
    let streams = handles.open().map_err(|error| cannot_pipe(&error))?;
    let (reader, writer, output_closed) = (streams.reader, streams.writer, streams.output_closed);
    let (mut from_service, mut to_service) = service.into_split();
    let mut signal = None;
    let has_ended = {
        let mut output_closed = pin!(output_closed);
        let mut receiving = pin!(copy(&mut from_service, writer));
        let end_of_input = tokio::select! {
            biased;
            () = &mut output_closed => return Ok(End::OutputClosed),
            received = &mut receiving => Err(received),
            sent = copy(reader, &mut to_service) => Ok(sent),
            stop = signals.take() => { signal = Some(stop); Ok(Ok(())) }
        };
        match end_of_input {
            Err(received) => received.map(|()| HasEnded::Service),
            Ok(Err(Broken::Source(error))) if is_disconnect(&error) => return Ok(End::OutputClosed),
            Ok(Err(Broken::Source(error))) => {
                tracing::error!(%error, "the input cannot be read");
                return Ok(End::InputFailed);
            }
            Ok(sent) => {
                // Whoever takes nothing more may still have something to say.
                let _ = to_service.shutdown().await;
                let rest = async {
                    match signal {
                        Some(_) => timeout(FLUSH_TIME, receiving).await.unwrap_or(Ok(())),
                        None => receiving.await,
                    }
                };
                tokio::select! {
                    biased;
                    () = output_closed => return Ok(End::OutputClosed),
                    received = rest => received.map(|()| if sent.is_ok() { HasEnded::Input } else { HasEnded::Service }),
                    stop = signals.take() => return Ok(End::Stopped(signal.unwrap_or(stop))),
                }
            }
        }
    };
    match has_ended {
        Ok(HasEnded::Input) => Ok(signal.map_or(End::EndOfInput, End::Stopped)),
        Ok(HasEnded::Service) if !is_gone(&from_service).await => Ok(End::Shutdown),
        Ok(HasEnded::Service) | Err(Broken::Source(_)) => Err(lost()),
        Err(Broken::Target(error)) if is_disconnect(&error) => Ok(End::OutputClosed),
        Err(Broken::Target(error)) => {
            tracing::error!(%error, "the output cannot be written");
            Ok(End::OutputFailed)
        }
    }
}

/// Which side had nothing more to say.
enum HasEnded {
    Input,
    Service,
}

/// Which end of a copy failed.
enum Broken {
    Source(io::Error),
    Target(io::Error),
}

async fn copy(mut source: impl AsyncRead + Unpin, mut target: impl AsyncWrite + Unpin) -> Result<(), Broken> {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let count = source.read(&mut buffer).await.map_err(Broken::Source)?;
        if count == 0 {
            return Ok(());
        }
        target.write_all(&buffer[..count]).await.map_err(Broken::Target)?;
        target.flush().await.map_err(Broken::Target)?;
    }
}

/// Whether nobody is there any more on the other side of a socket from which nothing more comes.
async fn is_gone(from_service: &OwnedReadHalf) -> bool {
    let looked = timeout(LOOK_TIME, from_service.ready(Interest::WRITABLE)).await;
    matches!(looked, Ok(Ok(ready)) if ready.is_write_closed()) || matches!(looked, Ok(Err(_)))
}

fn lost() -> Failure {
    Failure::new(
        FailureCode::Io,
        "the service is gone, and with it what it was asked and had not answered. `oam service status` and `oam service logs` \
         tell more.",
    )
}

fn is_disconnect(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset | ErrorKind::ConnectionAborted)
}
