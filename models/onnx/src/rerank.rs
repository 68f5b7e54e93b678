//! What all rerankers share: identity, and scoring until a budget ends.

use std::ops::ControlFlow;
use std::time::Instant;

use quire_model::{Call, ModelError, RerankMethod, RerankerInfo, Stop};

use crate::catalogue::{ModelSpec, Precision};
use crate::files::Identity;
use crate::model::{LoadError, OnnxModel};

/// What identifies a reranker, without loading it.
///
/// # Errors
/// When the catalogue has no such precision of the model.
pub fn reranker_info(
    spec: &ModelSpec,
    precision: Precision,
    identity: &Identity,
    method: RerankMethod,
) -> Result<RerankerInfo, LoadError> {
    Ok(RerankerInfo {
        name: spec.name.clone(),
        revision: spec.files(precision)?.source.revision().to_owned(),
        digest: identity.model.clone(),
        precision: precision.to_string(),
        method,
        max_tokens: spec.max_tokens,
    })
}

/// What identifies a reranker on a loaded model.
pub(crate) fn info(model: &OnnxModel, method: RerankMethod) -> Result<RerankerInfo, LoadError> {
    reranker_info(model.spec(), model.precision(), model.identity(), method)
}

/// Takes one step after the other, each a call that ends with `budget`, until
/// a step breaks or the budget ends. What the step under way has got by then
/// is its own to keep.
///
/// # Errors
/// A step's; the end of `budget` is none, that of `call` is.
pub(crate) fn step_until(
    call: &Call,
    budget: Instant,
    mut step: impl FnMut(&Call) -> Result<ControlFlow<()>, ModelError>,
) -> Result<(), ModelError> {
    let within = call.until(budget);
    while Instant::now() < budget {
        match step(&within) {
            Ok(ControlFlow::Continue(())) => {}
            Ok(ControlFlow::Break(())) => break,
            Err(error) => {
                let budget_ended = error.stop() == Some(Stop::DeadlinePassed);
                if budget_ended && call.stop().is_none() {
                    break;
                }
                return Err(error);
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn stopped() -> ModelError {
        ModelError::new("m", Stop::DeadlinePassed)
    }

    #[test]
    fn the_end_of_the_budget_is_no_error_but_that_of_the_call_is() {
        let soon = Instant::now() + Duration::from_secs(60);
        let mut steps = 0;
        let step = |within: &Call| {
            assert_eq!(within.deadline(), Some(soon));
            steps += 1;
            if steps < 3 {
                Ok(ControlFlow::Continue(()))
            } else {
                Err(stopped())
            }
        };
        step_until(&Call::new(), soon, step).unwrap();
        assert_eq!(steps, 3);

        let over = Call::new().until(Instant::now());
        let error = step_until(&over, soon, |_| Err(stopped())).unwrap_err();
        assert_eq!(error.stop(), Some(Stop::DeadlinePassed));

        step_until(&Call::new(), Instant::now(), |_| panic!("no time")).unwrap();
    }

    #[test]
    fn any_other_error_ends_the_steps() {
        let soon = Instant::now() + Duration::from_secs(60);
        let error = step_until(&Call::new(), soon, |_| {
            Err(ModelError::new("m", Stop::QueueFull))
        });
        assert_eq!(error.unwrap_err().stop(), Some(Stop::QueueFull));
    }
}
