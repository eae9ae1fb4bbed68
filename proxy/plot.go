package proxy

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// plot is a small line chart for the status page, drawn by the server so that it
// needs no script.
type plot struct {
	Title string
	Text  string // the same in words
	Most  string // the top of the chart
	Lines []plotLine
}

type plotLine struct {
	Name   string
	Class  string
	Now    string
	Points string // of a polyline
}

// The size of a chart, in its own units.
const plotWidth, plotHeight = 240.0, 60.0

// plotSeries is one line to be drawn.
type plotSeries struct {
	name  string
	value func(*sample) float64
}

// plots draws the charts of the status page.
func plots(samples []sample) []plot {
	milliseconds := func(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
	return []plot{
		draw("Lock commands per second", samples, func(v float64) string { return strconv.FormatFloat(math.Round(v), 'f', -1, 64) },
			plotSeries{"answered", func(s *sample) float64 { return s.served }},
			plotSeries{"denied", func(s *sample) float64 { return s.denied }},
			plotSeries{"failed", func(s *sample) float64 { return s.failed }}),
		draw("Time to answer, estimated", samples, func(v float64) string { return fmt.Sprintf("%.3g ms", v) },
			plotSeries{"median", func(s *sample) float64 { return milliseconds(s.p50) }},
			plotSeries{"99 %", func(s *sample) float64 { return milliseconds(s.p99) }}),
	}
}

// draw makes a chart of some series with one scale.
func draw(title string, samples []sample, format func(float64) string, series ...plotSeries) plot {
	most := 0.0
	for i := range samples {
		for _, s := range series {
			most = max(most, s.value(&samples[i]))
		}
	}
	most = roundUp(most)
	p := plot{Title: title, Most: format(most), Text: title + " now: "}
	for n, s := range series {
		line := plotLine{Name: s.name, Class: [...]string{"one", "two", "three"}[n], Now: format(0)}
		if len(samples) > 0 {
			line.Now = format(s.value(&samples[len(samples)-1]))
		}
		line.Points = points(samples, s.value, most)
		p.Lines = append(p.Lines, line)
		if n > 0 {
			p.Text += ", "
		}
		p.Text += s.name + " " + line.Now
	}
	p.Text += "; most in the last two minutes at or below " + p.Most
	return p
}

// points are those of a line; the last sample is at the right edge.
func points(samples []sample, value func(*sample) float64, most float64) string {
	var b strings.Builder
	for i := range samples {
		x := plotWidth - float64(len(samples)-1-i)*plotWidth/(historyLength-1)
		y := plotHeight - 1 - value(&samples[i])/most*(plotHeight-2)
		fmt.Fprintf(&b, "%.1f,%.1f ", x, y)
	}
	return strings.TrimSpace(b.String())
}

// roundUp is the next of 1, 2, 5, 10, 20, …, so that the scale does not change
// with every sample.
func roundUp(v float64) float64 {
	if v <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(v)))
	for _, step := range []float64{1, 2, 5} {
		if v <= step*unit {
			return step * unit
		}
	}
	return 10 * unit
}
