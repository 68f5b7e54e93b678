//! Words that hold sentences together and say little about a passage.
//!
//! The closed classes only: pronouns, articles, auxiliaries, conjunctions,
//! prepositions of case, question words, and what an apostrophe leaves of
//! them. `will`, `may` and the `don` of `don't` are left out: they are names.

use std::collections::HashSet;
use std::sync::LazyLock;

const ENGLISH: &str = "
    a an the this that these those some any such no nor not so
    i me my mine myself we us our ours ourselves you your yours yourself
    yourselves he him his himself she her hers herself it its itself they
    them their theirs themselves
    am is are was were be been being have has had having do does did doing
    done would should could ought shall can might must
    and but if or because as until while than then
    of at by for with to from into onto upon in on there here
    who whom whose which what when where why how
    s t d m ll re ve";

const CHINESE: &str = "
    的 地 得 了 着 过 吗 呢 吧 啊 呀 之
    我 你 他 她 它 我们 你们 他们 她们 它们 自己 其
    这 那 这个 那个 这些 那些
    是 有 被 把 将 使 让 给 能 会 可以 不 是否
    和 与 及 以及 或 或者 而 而且 但 但是 因为 所以 如果
    在 于 为 以 由 从 对 向 到 所 就 也 都 还 又 再 才 只
    谁 什么 什么样 哪 哪个 哪些 哪里 哪儿 哪位 哪种 多少 几
    何 何时 何地 何人 为何 如何 怎么 怎样 怎么样 为什么 请问";

static WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    ENGLISH
        .split_whitespace()
        .chain(CHINESE.split_whitespace())
        .collect()
});

/// Whether a folded, unstemmed word is one of them.
pub(crate) fn is_function_word(word: &str) -> bool {
    WORDS.contains(word)
}
