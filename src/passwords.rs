//! Password hashes, made by few threads at a time: each takes 19 MiB and some 20 ms.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use argon2::password_hash::phc::PasswordHash;
use argon2::{Argon2, PasswordHasher as _, PasswordVerifier as _};
use tokio::sync::Semaphore;

use crate::error::{Error, Result};
use crate::player::Password;

/// Argon2id with the crate's defaults (19 MiB, two passes, one lane), the first recommendation of OWASP's Password
/// Storage Cheat Sheet.
#[derive(Debug, Clone)]
pub struct Passwords {
    threads: Arc<Semaphore>,
    waiting: Arc<AtomicUsize>,
    /// What an unknown name is compared with, so that it takes as long as a known one.
    dummy: Arc<str>,
}

/// The outcome of a comparison.
#[derive(Debug)]
pub struct Verified {
    /// Whether the password is the right one.
    pub fits: bool,
    /// A hash with today's parameters, where it fits one with others.
    pub rehashed: Option<String>,
}

/// Passwords that may wait for a thread; more are turned away.
const MAX_WAITING: usize = 64;

impl Passwords {
    /// A pool of that many threads.
    ///
    /// # Errors
    /// The hash cannot be made at all.
    pub fn new(threads: usize) -> Result<Self> {
        let dummy = hash(b"nobody's password")?;
        Ok(Self { threads: Arc::new(Semaphore::new(threads)), waiting: Arc::default(), dummy: dummy.into() })
    }

    /// Hashes a new password.
    ///
    /// # Errors
    /// `Overloaded`.
    pub async fn hash(&self, password: Password) -> Result<String> {
        self.run(move || hash(password.as_bytes())).await?
    }

    /// Compares a password with a stored hash, or with none in the same time.
    ///
    /// # Errors
    /// `Overloaded`.
    pub async fn verify(&self, password: Password, stored: Option<String>) -> Result<Verified> {
        let known = stored.is_some();
        let stored = stored.unwrap_or_else(|| self.dummy.to_string());
        self.run(move || {
            let parsed = PasswordHash::new(&stored).map_err(failed)?;
            let fits = Argon2::default().verify_password(password.as_bytes(), &parsed).is_ok() && known;
            // Not compared whole: a parsed hash names its length too, the default leaves it open.
            let cost = |p: &argon2::Params| (p.m_cost(), p.t_cost(), p.p_cost());
            let current = argon2::Params::try_from(&parsed).is_ok_and(|p| cost(&p) == cost(&argon2::Params::DEFAULT));
            let rehashed = if fits && !current { Some(hash(password.as_bytes())?) } else { None };
            Ok(Verified { fits, rehashed })
        })
        .await?
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        /// Leaves the queue also when its caller goes away.
        struct Waiting(Arc<AtomicUsize>);
        impl Drop for Waiting {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let ahead = self.waiting.fetch_add(1, Ordering::Relaxed);
        let waiting = Waiting(self.waiting.clone());
        if ahead >= MAX_WAITING {
            return Err(Error::Overloaded);
        }
        let permit = self.threads.clone().acquire_owned().await.map_err(failed)?;
        drop(waiting);
        // The permit goes along: a caller that goes away does not make room for another thread.
        let work = tokio::task::spawn_blocking(move || {
            let result = work();
            drop(permit);
            result
        });
        work.await.map_err(failed)
    }
}

fn hash(password: &[u8]) -> Result<String> {
    Ok(Argon2::default().hash_password(password).map_err(failed)?.to_string())
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Internal(format!("password hash: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn old_parameters_are_renewed_and_wrong_passwords_are_not() {
        let passwords = Passwords::new(1).unwrap();
        let password = || "correct horse".parse::<Password>().unwrap();
        let params = argon2::Params::new(8192, 1, 1, None).unwrap();
        let old = Argon2::from(params).hash_password(password().as_bytes()).unwrap().to_string();
        let verified = passwords.verify(password(), Some(old.clone())).await.unwrap();
        assert!(verified.fits);
        let renewed = verified.rehashed.unwrap();
        let verified = passwords.verify(password(), Some(renewed)).await.unwrap();
        assert!(verified.fits && verified.rehashed.is_none());
        let wrong = passwords.verify("incorrect horse".parse().unwrap(), Some(old)).await.unwrap();
        assert!(!wrong.fits && wrong.rehashed.is_none());
        assert!(!passwords.verify("nobody's password".parse().unwrap(), None).await.unwrap().fits);
    }

    #[tokio::test]
    async fn a_flood_is_turned_away() {
        let passwords = Passwords::new(1).unwrap();
        let all = (0..100).map(|_| passwords.hash("correct horse".parse().unwrap()));
        let outcomes = futures_util::future::join_all(all).await;
        let refused = outcomes.iter().filter(|o| matches!(o, Err(Error::Overloaded))).count();
        assert!(refused > 0 && refused < 100, "{refused}");
        assert!(passwords.hash("correct horse".parse().unwrap()).await.is_ok());
    }
}
