use proptest::prelude::*;

use super::rng::Rng;
use super::*;

#[test]
fn spread_is_the_value_computed_by_hand() {
    let values = [2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0];
    assert_eq!(mean(&values), Some(5.0));
    let deviation = standard_deviation(&values).unwrap();
    assert!((deviation - (32.0f64 / 7.0).sqrt()).abs() < 1e-15);
    assert_eq!(standard_error(&values), Some(deviation / 8f64.sqrt()));
}

#[test]
fn one_value_has_a_mean_but_no_spread() {
    assert_eq!(mean(&[]), None);
    assert_eq!(mean(&[0.5]), Some(0.5));
    assert_eq!(standard_deviation(&[0.5]), None);
    assert_eq!(standard_error(&[0.5]), None);
}

#[test]
fn the_spread_of_values_far_from_0_keeps_its_digits() {
    let near = standard_deviation(&[0.25, 0.5, 0.75]).unwrap();
    let far = standard_deviation(&[1e9 + 0.25, 1e9 + 0.5, 1e9 + 0.75]).unwrap();
    assert!((near - far).abs() < 1e-6);
}

#[test]
fn the_generator_is_the_published_one() {
    let mut rng = Rng::new(1_234_567);
    assert_eq!(rng.bits(), 6_457_827_717_110_365_317);
    assert_eq!(rng.bits(), 3_203_168_211_198_807_973);
}

#[test]
fn a_few_pairs_are_tested_exactly() {
    // Of 8 assignments only + + + and - - - reach a sum of 6.
    let test = randomization_test(&[1.0, 2.0, 3.0], 0, 0);
    assert_eq!((test.p, test.exact, test.assignments), (0.25, true, 8));
    // Of 16, those with a sum of at least 2: one sign turned, or none, or the
    // mirror images of these.
    let test = randomization_test(&[1.0, 1.0, 1.0, -1.0], 0, 0);
    assert_eq!(test.p, 10.0 / 16.0);
}

#[test]
fn sums_that_differ_by_rounding_alone_are_equal() {
    // 0.1 + 0.2 - 0.3 is 0 to a reader, but not to a computer.
    let test = randomization_test(&[0.1, 0.2, -0.3], 0, 0);
    assert_eq!(test.p, 1.0);
    let test = randomization_test(&[0.3, 0.1, 0.2, -0.3], 0, 0);
    let tenths = randomization_test(&[3.0, 1.0, 2.0, -3.0], 0, 0);
    assert_eq!(test.p, tenths.p);
}

#[test]
fn pairs_that_do_not_differ_change_nothing() {
    let mut differences = vec![0.0; 100];
    differences.extend([1.0, 2.0, 3.0]);
    assert_eq!(
        randomization_test(&differences, 0, 0),
        randomization_test(&[1.0, 2.0, 3.0], 0, 0)
    );
    assert_eq!(randomization_test(&[0.0, 0.0], 0, 0).p, 1.0);
    assert_eq!(randomization_test(&[], 0, 0).p, 1.0);
}

/// As many differences of 1 as of -1, and `more` of 1.
fn wins_and_losses(losses: usize, more: usize) -> Vec<f64> {
    let mut differences = vec![1.0; losses + more];
    differences.resize(2 * losses + more, -1.0);
    differences
}

#[test]
fn a_sampled_p_is_near_the_exact_one() {
    // 16 wins against 8 losses; the sign test says
    // 2 * sum over k <= 8 of (24 over k) / 2^24 = 2 * 1271626 / 16777216.
    let differences = wins_and_losses(8, 8);
    let test = randomization_test(&differences, 20_000, 7);
    assert!(!test.exact);
    assert_eq!(test.assignments, 20_001);
    let exact = 2.0 * 1_271_626.0 / 16_777_216.0;
    assert!((test.p - exact).abs() < 0.01, "{} against {exact}", test.p);
}

#[test]
fn every_difference_of_a_long_list_can_turn() {
    // All wins: chance reaches this about once in 2^199.
    let test = randomization_test(&[1.0; 200], 999, 3);
    assert_eq!(test.p, 1.0 / 1000.0);
    // 110 wins against 90 losses, by the sign test. Were signs used again
    // after the 64th, p would be above 0.4.
    let test = randomization_test(&wins_and_losses(90, 20), 20_000, 3);
    assert!((test.p - 0.1790).abs() < 0.015, "{}", test.p);
}

#[test]
fn what_is_drawn_depends_on_the_seed_alone() {
    let differences = wins_and_losses(20, 5);
    let p = |seed| randomization_test(&differences, 500, seed).p;
    let interval = |seed| bootstrap_interval(&differences, 0.9, 500, seed).unwrap();
    assert_eq!(p(1), p(1));
    assert_eq!(interval(1), interval(1));
    assert!((2..20).any(|seed| p(seed) != p(1)));
    assert!((2..20).any(|seed| interval(seed) != interval(1)));
}

#[test]
fn the_bootstrap_interval_is_near_the_normal_one() {
    let differences: Vec<f64> = (0..400).map(|at| f64::from(at % 9) / 8.0 - 0.25).collect();
    let interval = bootstrap_interval(&differences, 0.95, 10_000, 11).unwrap();
    let error = standard_error(&differences).unwrap();
    assert_eq!(Some(interval.mean), mean(&differences));
    assert!((interval.low - (interval.mean - 1.96 * error)).abs() < 0.1 * error);
    assert!((interval.high - (interval.mean + 1.96 * error)).abs() < 0.1 * error);
}

#[test]
fn a_bootstrap_of_nothing_is_nothing_and_of_one_value_a_point() {
    assert_eq!(bootstrap_interval(&[], 0.95, 10, 0), None);
    assert_eq!(bootstrap_interval(&[1.0], 0.95, 0, 0), None);
    let point = bootstrap_interval(&[0.5, 0.5], 0.95, 10, 0).unwrap();
    assert_eq!((point.low, point.mean, point.high), (0.5, 0.5, 0.5));
}

#[test]
fn only_scores_of_the_same_questions_make_pairs() {
    assert_eq!(
        paired_differences(&[0.5, 1.0], &[1.0, 0.0]),
        Ok(vec![0.5, -1.0])
    );
    let lengths = MisfitPairs::Lengths { left: 1, right: 2 };
    assert_eq!(paired_differences(&[1.0], &[1.0, 2.0]), Err(lengths));
    let misfit = paired_differences(&[1.0, f64::NAN], &[1.0, 2.0]);
    assert_eq!(misfit, Err(MisfitPairs::NotFinite(1)));
}

/// Differences as scores have them.
fn any_differences() -> impl Strategy<Value = Vec<f64>> {
    let difference = prop::sample::select(vec![-1.0, -0.5, -0.1, 0.0, 0.2, 0.3, 1.0]);
    // Few, for the exact test is slow where many differ, or too many for it.
    let count = prop_oneof![1usize..12, 30usize..40];
    count.prop_flat_map(move |count| prop::collection::vec(difference.clone(), count))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn p_is_above_0_and_the_same_for_the_runs_exchanged(differences in any_differences()) {
        let test = randomization_test(&differences, 200, 5);
        prop_assert!(test.p > 0.0 && test.p <= 1.0);
        let exchanged: Vec<f64> = differences.iter().map(|d| -d).collect();
        prop_assert_eq!(test, randomization_test(&exchanged, 200, 5));
    }

    #[test]
    fn a_higher_level_is_a_wider_interval_within_the_values(differences in any_differences()) {
        let narrow = bootstrap_interval(&differences, 0.5, 200, 5).unwrap();
        let wide = bootstrap_interval(&differences, 0.95, 200, 5).unwrap();
        prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
        let least = differences.iter().copied().fold(f64::INFINITY, f64::min);
        let most = differences.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        prop_assert!(least - 1e-12 <= wide.low && wide.high <= most + 1e-12);
    }
}
