//! A line chart as SVG: both axes logarithmic, a direct label beside each line, nothing to load.

use std::fmt::Write as _;

/// Points that belong together.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    name: String,
    points: Vec<(f64, f64)>,
}

impl Line {
    pub(crate) fn new(name: &str, points: impl IntoIterator<Item = (f64, f64)>) -> Self {
        Self { name: name.to_owned(), points: points.into_iter().collect() }
    }
}

/// What a chart shows.
pub(crate) struct Chart<'a> {
    pub(crate) title: &'a str,
    pub(crate) x: &'a str,
    pub(crate) y: &'a str,
    pub(crate) lines: &'a [Line],
}

const WIDTH: f64 = 760.0;
const HEIGHT: f64 = 420.0;
const LEFT: f64 = 78.0;
const RIGHT: f64 = 190.0;
const TOP: f64 = 48.0;
const BOTTOM: f64 = 58.0;
/// Distance of two labels, so that none covers another.
const LABEL: f64 = 17.0;

/// Told apart by people who don't see red from green (Okabe and Ito).
const COLOURS: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// One axis: what it spans, in powers of ten.
#[derive(Debug, Clone, Copy)]
struct Axis {
    from: f64,
    to: f64,
}

impl Axis {
    /// Around values, all above 0; at least a decade, so that a flat line looks flat.
    fn around(values: impl Iterator<Item = f64> + Clone) -> Self {
        let lowest = values.clone().fold(f64::INFINITY, f64::min).log10();
        let highest = values.fold(0.0, f64::max).log10();
        let slack = ((1.0 - (highest - lowest)) / 2.0).max(0.05);
        Self { from: lowest - slack, to: highest + slack }
    }

    /// Where a value stands, from 0 to 1.
    fn at(&self, value: f64) -> f64 {
        (value.log10() - self.from) / (self.to - self.from)
    }

    /// 1, 2 and 5 of each power of ten within; 1 alone where that would be too many.
    fn ticks(&self) -> Vec<f64> {
        let steps: &[f64] = if self.to - self.from > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
        let mut ticks = Vec::new();
        let mut power = self.from.floor();
        while power <= self.to {
            ticks.extend(
                steps
                    .iter()
                    .map(|step| step * 10f64.powf(power))
                    .filter(|tick| (self.from..=self.to).contains(&tick.log10())),
            );
            power += 1.0;
        }
        ticks
    }
}

impl Chart<'_> {
    /// The chart as the text of an SVG file.
    pub(crate) fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| line.points.iter().copied());
        let (across, up) = (Axis::around(points().map(|(x, _)| x)), Axis::around(points().map(|(_, y)| y)));
        let x = |value: f64| LEFT + across.at(value) * (WIDTH - LEFT - RIGHT);
        let y = |value: f64| HEIGHT - BOTTOM - up.at(value) * (HEIGHT - TOP - BOTTOM);
        let (right, bottom) = (WIDTH - RIGHT, HEIGHT - BOTTOM);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" \
             font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"#333\">\n\
             <title>{title}</title>\n<rect width=\"{WIDTH}\" height=\"{HEIGHT}\" fill=\"#fff\"/>\n\
             <text x=\"{LEFT}\" y=\"26\" font-size=\"16\" font-weight=\"600\">{title}</text>\n",
            title = escaped(self.title)
        );
        // Writing to a `String` can't fail.
        for tick in across.ticks() {
            let (at, text) = (x(tick), short(tick));
            let _ = writeln!(
                svg,
                "<path d=\"M{at:.1} {TOP}V{bottom}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{at:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                bottom + 19.0
            );
        }
        for tick in up.ticks() {
            let (at, text) = (y(tick), short(tick));
            let _ = writeln!(
                svg,
                "<path d=\"M{LEFT} {at:.1}H{right}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                LEFT - 8.0,
                at + 4.5
            );
        }
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\n\
             <text transform=\"translate(18 {:.1}) rotate(-90)\" text-anchor=\"middle\">{}</text>",
            (LEFT + right) / 2.0,
            HEIGHT - 14.0,
            escaped(self.x),
            (TOP + bottom) / 2.0,
            escaped(self.y)
        );
        let labels =
            spread_out(self.lines.iter().map(|line| line.points.last().map_or(0.0, |last| y(last.1))));
        for ((line, label), colour) in self.lines.iter().zip(labels).zip(COLOURS.iter().cycle()) {
            let path: Vec<String> =
                line.points.iter().map(|&(across, up)| format!("{:.1} {:.1}", x(across), y(up))).collect();
            let _ = writeln!(
                svg,
                "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                path.join(" ")
            );
            for &(across, up) in &line.points {
                let (cx, cy) = (x(across), y(up));
                let _ = writeln!(svg, "<circle cx=\"{cx:.1}\" cy=\"{cy:.1}\" r=\"3\" fill=\"{colour}\"/>");
            }
            let _ = writeln!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"{colour}\">{}</text>",
                right + 10.0,
                label + 4.5,
                escaped(&line.name)
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

/// Heights of labels moved apart, in the order they came, each as near to its wish as that allows.
fn spread_out(wishes: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut labels: Vec<(usize, f64)> = wishes.enumerate().collect();
    labels.sort_by(|a, b| a.1.total_cmp(&b.1));
    for at in 1..labels.len() {
        labels[at].1 = labels[at].1.max(labels[at - 1].1 + LABEL);
    }
    let mut lowest = HEIGHT - BOTTOM;
    for label in labels.iter_mut().rev() {
        label.1 = label.1.min(lowest);
        lowest = label.1 - LABEL;
    }
    labels.sort_by_key(|(at, _)| *at);
    labels.into_iter().map(|(_, height)| height).collect()
}

/// 1500 → `1.5k`.
fn short(value: f64) -> String {
    let (value, unit) = match value {
        1e6.. => (value / 1e6, "M"),
        1e3.. => (value / 1e3, "k"),
        _ => (value, ""),
    };
    let digits = (value * 1e6).round() / 1e6;
    format!("{digits}{unit}")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chart_holds_every_point_inside_its_frame_and_its_texts_escaped() {
        let lines = [
            Line::new("a < b", [(1.0, 10.0), (1000.0, 20.0)]),
            Line::new("flat", [(1.0, 11.0), (1000.0, 20.1)]),
        ];
        let svg = Chart { title: "T & t", x: "events", y: "µs", lines: &lines }.svg();
        assert_eq!(svg.matches("<circle").count(), 4);
        assert!(svg.contains("T &amp; t") && svg.contains("a &lt; b"));
        for circle in svg.split("<circle ").skip(1) {
            let number = |name: &str| -> f64 {
                let text = circle.split(&format!("{name}=\"")).nth(1).unwrap();
                text.split('"').next().unwrap().parse().unwrap()
            };
            assert!((LEFT..=WIDTH - RIGHT).contains(&number("cx")));
            assert!((TOP..=HEIGHT - BOTTOM).contains(&number("cy")));
        }
    }

    #[test]
    fn labels_never_cover_each_other() {
        let labels = spread_out([100.0, 101.0, 99.0, 400.0].into_iter());
        let mut sorted = labels.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= LABEL - 1e-9), "{labels:?}");
        assert!(sorted[3] <= HEIGHT - BOTTOM);
    }

    #[test]
    fn ticks_are_short() {
        assert_eq!([1.0, 0.05, 1500.0, 2e6].map(short), ["1", "0.05", "1.5k", "2M"]);
    }
}
