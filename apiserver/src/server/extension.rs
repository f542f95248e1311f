//! The main server of an extension server, in place of its own authentication, authorization and cluster.

use std::sync::Arc;

use clients::{Client, SettingsError};
use futures::FutureExt as _;
use futures::future::BoxFuture;
use registry_core::registry::{InstalledApi, Services};
use registry_core::storage::StorageError;

use super::authentication_config::{AuthenticationConfig, FollowedAuthentication};
use crate::api_server::ApiServer;
use crate::authentication::{
    AuthenticationError, Authenticator, ClientTrust, DelegatedSources, FrontProxyNames,
};
use crate::main_server::{self, MainKinds};
use crate::options::{FrontProxyOptions, Options};
use crate::server::error::ServerError;

/// The main server of an extension server.
pub(super) struct MainServer {
    client: Arc<Client>,
    kinds: Arc<MainKinds>,
    followed: FollowedAuthentication,
    config: Option<AuthenticationConfig>,
}

/// The cluster of an extension server: that of its main server.
pub(super) struct MainCluster {
    /// The kinds that policies have as parameters.
    pub(super) kinds: Arc<MainKinds>,
    /// The main server.
    pub(super) server: Arc<dyn ApiServer>,
}

// === impl MainServer ===

impl MainServer {
    /// Connects to the main server, and waits for what it publishes about authentication.
    ///
    /// # Errors
    /// Fails if the flags are wrong, or if that cannot be read.
    pub(super) async fn open(options: &Options, trust: Arc<ClientTrust>) -> Result<Self, ServerError> {
        options.validate_delegation()?;
        let delegation = &options.delegation;
        let wrong =
            |place: &'static str| move |source: SettingsError| ServerError::Kubeconfig { place, source };
        let client =
            main_server::client(delegation.kubeconfig.as_deref(), "").map_err(wrong("--kubeconfig"))?;
        let proxies = &options.authentication.front_proxy;
        let proxy_names = match &proxies.requestheader_client_ca_file {
            Some(_) => FrontProxyNames::new(&with_default_headers(proxies)),
            None => Ok(FrontProxyNames::default()),
        };
        let followed =
            FollowedAuthentication { trust, proxy_names: proxy_names.map_err(AuthenticationError::from)? };
        let config = if delegation.authentication_skip_lookup {
            None
        } else {
            let client = main_server::client(delegation.authentication(), "");
            let client = client.map_err(wrong("--authentication-kubeconfig"))?;
            AuthenticationConfig::new(client, &options.authentication, followed.clone())
        };
        if let Some(config) = &config {
            let tolerates_failure = delegation.authentication_tolerate_lookup_failure;
            config.read(tolerates_failure).await.map_err(ServerError::MainServerAuthentication)?;
        }
        let client = Arc::new(client);
        Ok(Self { kinds: Arc::new(MainKinds::new(client.clone())), client, followed, config })
    }

    /// Returns the authenticator of the server.
    ///
    /// # Errors
    /// Fails if a file or a flag cannot be used.
    pub(super) fn authenticator(&self, options: &Options) -> Result<Authenticator, ServerError> {
        let sources = DelegatedSources {
            options: &options.authentication,
            kubeconfig: options.delegation.authentication(),
            trust: self.followed.trust.clone(),
            proxy_names: self.followed.proxy_names.clone(),
        };
        Ok(sources.assemble()?)
    }

    /// Returns what is read of the cluster.
    pub(super) fn cluster(&self) -> MainCluster {
        MainCluster { kinds: self.kinds.clone(), server: self.client.clone() }
    }

    /// Returns what is installed, with the stores of the main server's resources that this server depends on.
    ///
    /// # Errors
    /// Fails if a store cannot be opened.
    pub(super) fn beside(
        &self,
        own: &InstalledApi,
        options: &Options,
        services: &Services,
    ) -> Result<InstalledApi, StorageError> {
        let cache_bytes = options.storage.watch_cache_bytes();
        let main = main_server::install(
            self.client.clone(),
            services.clone(),
            cache_bytes,
            options.limits.enable_priority_and_fairness,
        )?;
        let mut all = own.clone();
        all.paths.extend(main.paths);
        Ok(all)
    }

    /// Returns what follows the main server's authentication, if anything does.
    pub(super) fn follow(self) -> Option<BoxFuture<'static, ()>> {
        self.config.map(|config| config.run().boxed())
    }
}

/// Returns the names of the headers; those that are not given are the usual ones, except for uids, which older front proxies
/// pass on from clients.
fn with_default_headers(given: &FrontProxyOptions) -> FrontProxyOptions {
    let mut names = given.clone();
    for (names, usual) in [
        (&mut names.requestheader_username_headers, "x-remote-user"),
        (&mut names.requestheader_group_headers, "x-remote-group"),
        (&mut names.requestheader_extra_headers_prefix, "x-remote-extra-"),
    ] {
        if names.is_empty() {
            names.push(usual.to_owned());
        }
    }
    names
}
