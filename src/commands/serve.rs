//! `serve`: the service, until it is told to stop.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use tokio::signal::unix::{SignalKind, signal};

use hasami_ladder::config::ServeArgs;
use hasami_ladder::http::{self, Service};
use hasami_ladder::store;

/// Serves until SIGINT or SIGTERM.
///
/// # Errors
/// It cannot start or stop.
pub async fn run(args: ServeArgs) -> anyhow::Result<()> {
    let start = Instant::now();
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;
    // Taken first: a port that is in use should not cost a start of the database.
    let listener = TcpListener::bind(args.listen)
        .with_context(|| format!("cannot listen on {}; choose another address with --listen", args.listen))?;
    let address = listener.local_addr()?;

    let database = tokio::select! {
        database = args.database.open() => database?,
        _ = interrupt.recv() => return Ok(()),
        _ = terminate.recv() => return Ok(()),
    };
    let serving = async {
        let secret = args.secret()?;
        store::migrate(database.options.clone()).await.context("cannot bring the database's schema up to date")?;
        let (service, worker) = Service::start(database.options.clone(), args.db_connections, &secret)?;
        let workers =
            args.workers.map_or_else(|| std::thread::available_parallelism().map_or(1, usize::from), usize::from);
        let worker = tokio::spawn(worker.run());
        let server = http::serve(service, listener, workers)?;
        let handle = server.handle();
        let server = tokio::spawn(server);

        let data = match &database.embedded {
            Some(embedded) => embedded.data().display().to_string(),
            None => "the database of DATABASE_URL".to_owned(),
        };
        tracing::info!("listening on http://{address}");
        tracing::info!("docs      on http://{address}/docs");
        tracing::info!("data      in {data}");
        tracing::info!("ready after {:.1} s; stop with Ctrl-C", start.elapsed().as_secs_f64());

        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        tracing::info!("stopping: requests under way are finished first");
        handle.stop(true).await;
        server.await??;
        worker.abort();
        anyhow::Ok(())
    };
    let served = serving.await;
    // Also where serving failed: nothing is left running.
    let stopped = tokio::time::timeout(Duration::from_secs(60), database.stop()).await;
    served?;
    stopped.context("the database did not stop in a minute")??;
    tracing::info!("stopped");
    Ok(())
}
