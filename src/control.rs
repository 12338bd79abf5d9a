//! Progress and cancellation of long work.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::error::{Error, Result};

/// Lets another thread cancel work.
#[derive(Clone, Debug, Default)]
pub struct CancelHandle(Arc<AtomicBool>);

impl CancelHandle {
    /// Asks the work to stop; it ends with [`Error::Cancelled`] soon after.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether [`Self::cancel`] has been called.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How long work reports its progress and is cancelled. The default does neither.
#[derive(Clone, Default)]
pub struct Control {
    cancel: CancelHandle,
    progress: Option<Arc<dyn Fn(f32) + Send + Sync>>,
}

impl std::fmt::Debug for Control {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Control").field("cancel", &self.cancel).finish_non_exhaustive()
    }
}

impl Control {
    /// Neither progress nor cancellation.
    pub fn new() -> Self {
        Self::default()
    }

    /// Calls `report` with the part done, 0 to 1, every now and then, from any thread.
    #[must_use]
    pub fn on_progress(mut self, report: impl Fn(f32) + Send + Sync + 'static) -> Self {
        self.progress = Some(Arc::new(report));
        self
    }

    /// A handle that cancels the work given this control.
    pub fn cancel_handle(&self) -> CancelHandle {
        self.cancel.clone()
    }

    /// Notes progress; an error if the work has been cancelled.
    pub(crate) fn step(&self, done: f32) -> Result<()> {
        if self.cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        if let Some(report) = &self.progress {
            report(done.clamp(0.0, 1.0));
        }
        Ok(())
    }

    /// The same control without progress, for what is too small to count.
    pub(crate) fn quiet(&self) -> Control {
        Control { cancel: self.cancel.clone(), progress: None }
    }

    /// The same control for a part of the work: `0..1` of the part is `from..to` of the whole.
    pub(crate) fn part(&self, from: f32, to: f32) -> Control {
        let progress = self.progress.clone().map(|report| {
            let scaled: Arc<dyn Fn(f32) + Send + Sync> =
                Arc::new(move |done| report(from + (to - from) * done));
            scaled
        });
        Control { cancel: self.cancel.clone(), progress }
    }
}
