use super::super::{TooDeep, extract_html, extract_xhtml, extract_xml};

const DEPTH: usize = 64;

fn html(document: &str) -> String {
    extract_html(document, DEPTH).unwrap().text
}

fn xml(document: &str) -> String {
    extract_xml(document, DEPTH).unwrap().0.text
}

#[test]
fn blocks_are_separated_by_blank_lines_and_white_space_collapses() {
    let document = "<html><body>  <p>One\n  two <b> three</b>\t<i>four</i></p>\
        <div>five<p> six </p>seven</div>\n<ul><li>a<li>b</ul></body></html>";
    assert_eq!(
        html(document),
        "One two three four\n\nfive\n\nsix\n\nseven\n\na\n\nb"
    );
}

#[test]
fn headings_are_one_line_with_their_level() {
    let document = "<h1>The <br/> Title\n of it</h1><h3> <em>Sub</em> </h3><p>text</p>\
        <h2><img src='x' alt='ornament'></h2><h6>Six";
    assert_eq!(
        html(document),
        "# The Title of it\n\n### Sub\n\ntext\n\n###### Six"
    );
}

#[test]
fn a_group_of_headings_is_one_heading() {
    let document = "<div><hgroup><h2>I</h2><p>The Beginning</p></hgroup><p>text</p></div>";
    assert_eq!(xml(document), "## I The Beginning\n\ntext");
    assert_eq!(html(document), "## I The Beginning\n\ntext");
    assert_eq!(
        html("<hgroup><p>no heading</p></hgroup>x"),
        "no heading\n\nx"
    );
}

#[test]
fn a_heading_left_open_does_not_swallow_the_chapter() {
    assert_eq!(
        html("<h2>One<p>text<p>more<h2>Two</h3>end"),
        "## One\n\ntext\n\nmore\n\n## Two\n\nend"
    );
    assert_eq!(html("<h2><p>Title</p></h2>text"), "## Title\n\ntext");
}

#[test]
fn line_breaks_are_kept_and_never_make_more_than_one_blank_line() {
    assert_eq!(
        html("<p><br>a <br/> b<br>\n<br><br><br>c<br></p>d"),
        "a\nb\n\nc\n\nd"
    );
}

#[test]
fn preformatted_text_keeps_its_white_space() {
    assert_eq!(
        html("<p>a</p><pre>\n  x  &lt;\n\n\n    y\n</pre>  b  c"),
        "a\n\n  x  <\n\n\n    y\n\nb c"
    );
}

#[test]
fn tables_have_a_line_a_row_and_a_tab_a_cell() {
    let document = "<table><caption>T</caption><tr><th>a<th>b<tr><td>1<td><b>2</b> 3</table>x";
    assert_eq!(html(document), "T\n\na\tb\n1\t2 3\n\nx");
}

#[test]
fn what_is_not_text_is_left_out() {
    let document = "<head><title>T &amp; t</title><style>p{}</style><script>if (a<b) '<p>'</script>\
        <body>a<nav><ol><li>toc</ol></nav><span hidden>h<span>i</span></span>\
        <div style='Display : NONE'>x<p>y</div><img alt='alt'><svg><title>s</title><text>t</text></svg>\
        <template><p>t</template><noscript>n</noscript><textarea><b></textarea>\
        <span epub:type='pagebreak' title='7'>7</span>b</body>";
    let extracted = extract_html(document, DEPTH).unwrap();
    assert_eq!(extracted.text, "a\n\nb");
    assert_eq!(extracted.title.as_deref(), Some("T & t"));
}

#[test]
fn readings_over_ruby_are_left_out() {
    let ruby = "<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp>字<rt>ji</rt></ruby>を";
    assert_eq!(html(ruby), "漢字を");
    assert_eq!(xml(ruby), "漢字を");
    assert_eq!(html("<ruby>漢<rt>kan<rb>字<rt>ji</ruby>を"), "漢字を");
}

#[test]
fn every_kind_of_entity_is_resolved() {
    assert_eq!(
        html("&eacute;&notin;&#20013;&#x56FD;&amp;lt;&hellip;&copy &bogus;"),
        "é∉中国&lt;…© &bogus;"
    );
    let (extracted, problem) =
        extract_xhtml("<p>&eacute;&nbsp;&#20013;&bogus;</p>", DEPTH).unwrap();
    assert_eq!(extracted.text, "é\u{A0}中&bogus;");
    assert!(problem.unwrap().contains("&bogus;"));
}

#[test]
fn a_line_end_between_ideographs_is_no_space() {
    assert_eq!(
        html("<p>他是一\n  個好人，\n“好人”\nand\nso 好\n人 好</p>"),
        "他是一個好人，“好人” and so 好人 好"
    );
    assert_eq!(html("<p>나는\n학교</p>"), "나는 학교");
}

#[test]
fn a_blank_paragraph_leaves_no_trace_but_an_indent_stays() {
    assert_eq!(html("<p>&nbsp;</p><p>　　縮排</p><p>　</p>"), "　　縮排");
}

#[test]
fn xml_rules_hold_for_xhtml_and_html_rules_for_what_is_broken() {
    let well_formed = "<html xmlns='x' xml:lang='fr'><head><title/><script src='a'/></head>\
        <body><p>a<![CDATA[ <b> ]]></p><a id='x'/>c</body></html>";
    let (extracted, problem) = extract_xhtml(well_formed, DEPTH).unwrap();
    assert_eq!(extracted.text, "a <b>\n\nc");
    assert_eq!(extracted.title, None);
    assert_eq!(extracted.language.as_deref(), Some("fr"));
    assert_eq!(problem, None);

    let broken = "<html><head><title/><script src='a'/></head><body><p>a<p>b & c</body></html>";
    let (extracted, problem) = extract_xhtml(broken, DEPTH).unwrap();
    assert_eq!(extracted.text, "a\n\nb & c");
    assert!(problem.unwrap().starts_with("not well-formed at byte"));
}

#[test]
fn unclosed_elements_in_the_line_do_not_count_as_nesting() {
    assert_eq!(html(&"<a name='x'><font>".repeat(500)), "");
    assert_eq!(html(&"<p>a".repeat(500)), vec!["a"; 500].join("\n\n"));
    assert_eq!(html(&"<li>a".repeat(500)), vec!["a"; 500].join("\n\n"));
}

#[test]
fn deep_nesting_is_refused_without_recursion() {
    let deep = "<div>".repeat(1_000_000);
    assert_eq!(extract_html(&deep, DEPTH), Err(TooDeep));
    let closed = format!("{deep}{}", "</div>".repeat(1_000_000));
    assert_eq!(extract_xhtml(&closed, DEPTH), Err(TooDeep));
    assert_eq!(html(&("<div>".repeat(DEPTH) + "a")), "a");
}
