//! Plots: bars of one run, and lines of cost by size.

use std::fmt::Write as _;

use super::budget;
use super::measurement::Measurement;

const COLOURS: [&str; 6] = ["#47a", "#b63", "#2a7", "#849", "#a83", "#555"];

/// A line of a plot.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    /// The name.
    pub(crate) name: String,
    /// Size and cost.
    pub(crate) points: Vec<(f64, f64)>,
}

/// A plot of cost against size, both axes logarithmic.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plot {
    /// The title, with the unit of the cost.
    pub(crate) title: String,
    /// The meaning of the sizes.
    pub(crate) sizes: String,
    /// The lines.
    pub(crate) lines: Vec<Line>,
    /// The budget of the cost.
    pub(crate) budget: Option<f64>,
}

/// Positions of the axes, in pixels.
const LEFT: f64 = 80.0;
const RIGHT: f64 = 640.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = 330.0;

/// A logarithmic axis over whole decades.
struct Axis {
    from: f64,
    decades: f64,
}

// === impl Axis ===

impl Axis {
    fn over(values: impl Iterator<Item = f64> + Clone) -> Self {
        let least = values.clone().fold(f64::INFINITY, f64::min).max(1e-3);
        let most = values.fold(least, f64::max);
        let from = least.log10().floor();
        Self { from, decades: (most.log10().ceil() - from).max(1.0) }
    }

    /// Returns the position, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        (value.max(1e-3).log10() - self.from) / self.decades
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let from = self.from;
        let decades = self.decades;
        (0..=12).map(f64::from).filter(move |step| *step <= decades).map(move |step| 10_f64.powf(from + step))
    }
}

// === impl Plot ===

impl Plot {
    /// Returns the plot as SVG.
    pub(crate) fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| line.points.iter().copied());
        let sizes = Axis::over(points().map(|(size, _)| size));
        let costs = Axis::over(points().map(|(_, cost)| cost).chain(self.budget));
        let x = |size| LEFT + (RIGHT - LEFT) * sizes.place(size);
        let y = |cost| BOTTOM - (BOTTOM - TOP) * costs.place(cost);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"390\" font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"860\" height=\"390\" fill=\"white\"/>\n<text x=\"16\" y=\"26\" font-size=\"15\">{}</text>\n<text x=\"{LEFT}\" y=\"374\">{}</text>\n",
            self.title, self.sizes
        );
        for tick in sizes.ticks() {
            let x = x(tick);
            let _ = writeln!(
                svg,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{TOP}\" y2=\"{BOTTOM}\" stroke=\"#ddd\"/><text x=\"{x:.1}\" y=\"350\" text-anchor=\"middle\">{tick}</text>"
            );
        }
        for tick in costs.ticks() {
            let y = y(tick);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#ddd\"/><text x=\"72\" y=\"{:.1}\" text-anchor=\"end\">{tick}</text>",
                y + 4.0
            );
        }
        if let Some(budget) = self.budget {
            let y = y(budget);
            let _ = writeln!(
                svg,
                "<line x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#2a7\" stroke-width=\"2\" stroke-dasharray=\"6 4\"/><text x=\"{:.1}\" y=\"{:.1}\" fill=\"#2a7\">budget</text>",
                RIGHT + 8.0,
                y + 4.0
            );
        }
        for (index, line) in self.lines.iter().enumerate() {
            let colour = COLOURS.get(index % COLOURS.len()).copied().unwrap_or("#000");
            let places: Vec<_> = line.points.iter().map(|(size, cost)| (x(*size), y(*cost))).collect();
            draw(
                &mut svg,
                &line.name,
                &places,
                colour,
                TOP + 18.0 * f64::from(u8::try_from(index).unwrap_or(0)),
            );
        }
        svg.push_str("</svg>\n");
        svg
    }
}

fn draw(svg: &mut String, name: &str, places: &[(f64, f64)], colour: &str, legend_y: f64) {
    let path: Vec<_> = places.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
    let _ = writeln!(
        svg,
        "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>",
        path.join(" ")
    );
    for (x, y) in places {
        let _ = writeln!(svg, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>");
    }
    let _ = writeln!(
        svg,
        "<rect x=\"700\" y=\"{legend_y:.1}\" width=\"12\" height=\"4\" fill=\"{colour}\"/><text x=\"718\" y=\"{:.1}\">{name}</text>",
        legend_y + 6.0
    );
}

/// Returns one bar per measurement on a logarithmic scale, with marks for the budget and the reference server.
pub(crate) fn bars(label: &str, measurements: &[Measurement]) -> String {
    const ROW_HEIGHT: usize = 34;
    let height = 60 + ROW_HEIGHT * measurements.len();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"860\" height=\"{height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"860\" height=\"{height}\" fill=\"white\"/>\n\
         <text x=\"16\" y=\"24\" font-size=\"15\">{label}: server CPU per operation, µs (log scale)</text>\n\
         <text x=\"560\" y=\"24\" fill=\"#2a7\">| budget</text><text x=\"640\" y=\"24\" fill=\"#b33\">| kube-apiserver</text>\n",
    );
    for (index, measurement) in measurements.iter().enumerate() {
        let top = 44 + index * ROW_HEIGHT;
        let end = position(measurement.cpu_micros());
        let _ = writeln!(
            svg,
            "<text x=\"16\" y=\"{}\">{} {}</text><rect x=\"150\" y=\"{top}\" width=\"{:.1}\" height=\"18\" fill=\"#47a\"/><text x=\"{:.1}\" y=\"{}\">{:.1}</text>",
            top + 14,
            measurement.workload,
            measurement.size,
            end - 150.0,
            end + 6.0,
            top + 14,
            measurement.cpu_micros()
        );
        let Some(budget) = budget::budget(measurement.workload, measurement.size) else { continue };
        for (micros, colour) in [(budget.allowed_cpu_micros, "#2a7"), (budget.reference_cpu_micros, "#b33")] {
            let x = position(micros);
            let _ = writeln!(
                svg,
                "<line x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{}\" y2=\"{}\" stroke=\"{colour}\" stroke-width=\"2\"/>",
                top - 4,
                top + 22
            );
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Returns the position of a number of microseconds on the bars' scale: 0.1 µs at the left, 100 ms at the right.
fn position(micros: f64) -> f64 {
    150.0 + 620.0 * ((micros.max(0.1).log10() + 1.0) / 6.0)
}
