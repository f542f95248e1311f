//! The parts of this server beside its resources: a flag, an admission plug-in, a post-start hook and a controller.

use std::error::Error;

use apiserver::api_client::leadership::Leadership;
use apiserver::{ServerBuilder, ServerContext};
use tokio_util::sync::CancellationToken;

mod closed_namespaces;
mod keeper;

use closed_namespaces::ClosedNamespaces;

/// The flags of this server, beside those of every server.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct ZooFlags {
    /// Run the keeper: a controller that reports the animals of each enclosure in its status
    #[arg(long)]
    pub keeper: bool,
}

// ANCHOR: customize
/// Adds everything to the server.
pub fn customize(server: ServerBuilder, ZooFlags { keeper }: ZooFlags) -> ServerBuilder {
    let server = server
        // Runs after Kubernetes' plug-ins. `--disable-admission-plugins=ClosedNamespaces` disables it.
        .validating_admission(ClosedNamespaces::new)
        // `/readyz` has it as poststarthook/zoo/greet, and fails until it has succeeded.
        .post_start_hook("zoo/greet", greet);
    if keeper { server.background(keep) } else { server }
}
// ANCHOR_END: customize

/// Proves that the cluster can be asked before the server is ready.
async fn greet(context: ServerContext) -> Result<(), Box<dyn Error + Send + Sync>> {
    let namespaces = context.cluster().in_namespace::<k8s_openapi::api::core::v1::Namespace>("");
    let own = namespaces.get(context.namespace()).await?;
    own.map(drop).ok_or_else(|| format!("there is no namespace {}", context.namespace()).into())
}

// ANCHOR: leadership
/// Runs the keeper in one of all servers of the zoo: the one that holds a Lease of the cluster.
async fn keep(context: ServerContext) {
    let leadership = Leadership::new(context.cluster(), context.namespace(), "zoo-keeper");
    let stopping = context.stopping().clone();
    let work = |ends: CancellationToken| {
        let context = context.clone();
        async move {
            ends.run_until_cancelled(keeper::run(context)).await;
        }
    };
    leadership.run(stopping, work).await;
}
// ANCHOR_END: leadership
