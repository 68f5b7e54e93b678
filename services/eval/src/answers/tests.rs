use proptest::prelude::*;

use super::*;

fn scored(task: Task, prediction: &str, gold: &[&str]) -> f64 {
    score(task, prediction, &GoldAnswers::new(gold.iter().copied()))
}

/// Whether `prediction` is right where the answer is option B, "Pan Twenty".
fn right(prediction: &str) -> bool {
    let options = ["Pan Nine", "Pan Twenty", "Pan One", "Bay"];
    let gold = GoldAnswers::of_choice(&options, &["Pan Twenty"]).unwrap();
    score(Task::ChoiceEn, prediction, &gold) == 1.0
}

#[test]
fn a_choice_is_the_letter_it_begins_with_even_of_a_word() {
    assert!(right("B"));
    assert!(right(" B. Pan Nine"));
    assert!(right("Bays are wide"));
    assert!(!right("D, no, B"));
    assert!(!right("b"));
}

#[test]
fn a_choice_may_be_the_options_own_words_but_no_more() {
    assert!(right("Pan Twenty\n"));
    assert!(!right("Pan Twenty."));
}

#[test]
fn a_choice_is_looked_for_behind_the_first_lead_and_nowhere_else() {
    assert!(right("My answer is: B"));
    assert!(right("The answer is 'Pan Twenty', I think"));
    assert!(right("The option is {B}"));
    // Leads are tried in their order, not in the text's.
    assert!(right("One answer: C; my last answer is: B"));
    assert!(!right("The answer is (B), so B"));
    assert!(!right("Answer is unclear. My answer is"));
    assert!(!right("The answer:B"));
}

#[test]
fn a_choice_is_otherwise_the_first_word_of_letters_alone() {
    assert!(right("It must be B or C"));
    assert!(right("\\boxed{B}"));
    assert!(!right("It is BC or B"));
    assert!(right("It is BD or B"));
    assert!(!right("(B)"));
}

#[test]
fn white_space_before_a_choice_is_what_python_strips() {
    for space in ['\u{1c}', '\u{1f}', '\u{85}', '\u{a0}', '\u{3000}', '\u{b}'] {
        assert!(right(&format!("{space}B")), "{space:?}");
    }
    assert!(!right("\u{200b}B"));
}

#[test]
fn only_single_blanks_are_left_behind_a_lead_but_tabs_stay() {
    assert!(right("So the answer \n is: . B"));
    assert!(!right("So the answer is:\t\tB"));
}

#[test]
fn a_choice_may_have_several_right_options() {
    let gold = GoldAnswers::of_choice(&["x", "y", "z"], &["x", "z"]).unwrap();
    assert_eq!(gold.texts(), ["x", "A", "z", "C"]);
    let wrong = GoldAnswers::of_choice(&["x", "y"], &["Y"]);
    assert_eq!(wrong, Err(NotAnOption("Y".to_owned())));
}

#[test]
fn articles_marks_and_case_do_not_count_in_english() {
    assert_eq!(
        scored(Task::QaEn, "The Miller's Son", &["millers son"]),
        1.0
    );
    assert_eq!(scored(Task::QaEn, "a.n oak", &["an oak"]), 1.0);
    assert_eq!(
        scored(Task::QaEn, "state-of-the-art", &["state of art"]),
        0.0
    );
    assert_eq!(scored(Task::QaEn, "the", &["the"]), 0.0);
}

#[test]
fn an_article_ends_where_pythons_words_end() {
    // A curly apostrophe ends a word; a superscript and a Han character do not.
    assert_eq!(scored(Task::QaEn, "the’s", &["’s"]), 1.0);
    assert_eq!(scored(Task::QaEn, "a²", &["²"]), 0.0);
    assert_eq!(scored(Task::QaEn, "a中", &["中"]), 0.0);
    // A vowel sign and a circled letter end it, as they would not in Rust.
    assert_eq!(scored(Task::QaEn, "a\u{93e}", &["\u{93e}"]), 1.0);
    assert_eq!(scored(Task::QaEn, "aⓐ", &["ⓐ"]), 1.0);
}

#[test]
fn words_are_counted_as_often_as_both_sides_hold_them() {
    assert_eq!(scored(Task::QaEn, "yes yes yes", &["yes"]), 0.5);
    assert_eq!(scored(Task::QaEn, "yes yes", &["yes yes no"]), 0.8);
}

#[test]
fn the_best_gold_answer_counts() {
    assert_eq!(scored(Task::QaEn, "one bit", &["a bit", "one bit"]), 1.0);
    assert_eq!(scored(Task::QaZh, "是，不是", &["不是", "是"]), 0.8);
    for task in Task::ALL {
        assert_eq!(scored(task, "x", &[]), 0.0);
    }
}

#[test]
fn chinese_marks_go_but_those_the_list_forgets() {
    let stays = "《〈〉．·‚﹑é零";
    let goes = "》「」、。！（），：；？【】“”‘’—…～ \u{3000}\u{1c}\t.,!_";
    for mark in stays.chars() {
        assert_eq!(
            scored(Task::QaZh, &mark.to_string(), &[&mark.to_string()]),
            1.0,
            "{mark}"
        );
    }
    for mark in goes.chars() {
        assert_eq!(
            scored(Task::QaZh, &mark.to_string(), &[&mark.to_string()]),
            0.0,
            "{mark}"
        );
    }
    assert_eq!(scored(Task::QaZh, "《红》", &["红"]), 2.0 / 3.0);
}

#[test]
fn a_total_adds_rows_in_their_order() {
    let total = Total::of(&[1.0, 0.1, 0.2, 1.0]).unwrap();
    assert_eq!((total.rows, total.full), (4, 2));
    assert_eq!(total.mean, (1.0 + 0.1 + 0.2 + 1.0) / 4.0);
    assert_eq!(Total::of(&[]), None);
}

#[test]
fn tasks_are_read_by_the_names_they_print() {
    for task in Task::ALL {
        assert_eq!(task.to_string().parse(), Ok(task));
    }
    assert!("longbook_sum_eng".parse::<Task>().is_err());
}

fn any_task() -> impl Strategy<Value = Task> {
    prop::sample::select(Task::ALL.to_vec())
}

/// Texts in which words, leads, letters and marks meet often.
fn any_text() -> impl Strategy<Value = String> {
    let parts = [
        "A",
        "B",
        "CD",
        "the",
        "a",
        "answer is",
        "answer:",
        " ",
        "  ",
        "\n",
        ".",
        "《",
        "》",
        "红",
        "楼",
        "\u{1c}",
        "é",
        "İ",
        "x",
        "’",
    ];
    let mixed = prop::collection::vec(prop::sample::select(parts.to_vec()), 0..9);
    prop_oneof![mixed.prop_map(|parts| parts.concat()), any::<String>()]
}

proptest! {
    #[test]
    fn a_score_is_between_0_and_1(task in any_task(), said in any_text(), gold in any_text()) {
        let score = scored(task, &said, &[&gold]);
        prop_assert!((0.0..=1.0).contains(&score), "{score}");
    }

    #[test]
    fn the_gold_answer_itself_scores_1_unless_nothing_is_left_of_it(gold in any_text()) {
        let left = |empty| if empty { 0.0 } else { 1.0 };
        let words = normal::english_words(&gold);
        prop_assert_eq!(scored(Task::QaEn, &gold, &[&gold]), left(words.is_empty()));
        let characters = normal::chinese_characters(&gold);
        prop_assert_eq!(scored(Task::QaZh, &gold, &[&gold]), left(characters.is_empty()));
    }

    #[test]
    fn the_order_of_gold_answers_does_not_matter(
        task in any_task(),
        said in any_text(),
        mut gold in prop::collection::vec(any_text(), 0..5),
    ) {
        let forth = score(task, &said, &GoldAnswers::new(gold.clone()));
        gold.reverse();
        prop_assert_eq!(forth, score(task, &said, &GoldAnswers::new(gold)));
    }

    #[test]
    fn another_gold_answer_never_lowers_a_score(
        task in any_task(),
        said in any_text(),
        gold in any_text(),
        other in any_text(),
    ) {
        let alone = scored(task, &said, &[&gold]);
        prop_assert!(scored(task, &said, &[&gold, &other]) >= alone);
    }

    #[test]
    fn f1_is_the_same_both_ways_round(said in any_text(), gold in any_text()) {
        for task in [Task::QaEn, Task::QaZh] {
            let (forth, back) = (scored(task, &said, &[&gold]), scored(task, &gold, &[&said]));
            prop_assert!((forth - back).abs() < 1e-12);
        }
    }
}
