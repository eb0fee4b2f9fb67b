// Package plot draws figures of a page as SVG.
package plot

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// Plot shows values of some rows: a dot for each value of a row, in the colour of its series.
type Plot struct {
	Title string
	Rows  []string
	Step  float64                // between the ticks from zero; 0: values are drawn by their logarithms, so all are above zero
	Tick  func(v float64) string // writes a value of the axis

	series []series
}

type series struct {
	name   string
	values map[int]float64 // by row
}

// Set adds the value of a row to a series, which may be new.
func (p *Plot) Set(name string, row int, v float64) {
	i := slices.IndexFunc(p.series, func(s series) bool { return s.name == name })
	if i < 0 {
		i = len(p.series)
		p.series = append(p.series, series{name, map[int]float64{}})
	}
	p.series[i].values[row] = v
}

// Sizes in pixels.
const (
	width       = 720
	left, right = 130, 40
	top, rowGap = 70, 18
)

// SVG draws the plot.
func (p Plot) SVG() string {
	low, high := math.Inf(1), math.Inf(-1)
	for _, s := range p.series {
		for _, v := range s.values {
			low, high = min(low, v), max(high, v)
		}
	}
	var ticks []float64
	scale := func(v float64) float64 { return v }
	if p.Step == 0 {
		scale = math.Log10
		for e := math.Floor(math.Log10(low)); e <= math.Ceil(math.Log10(high)); e++ {
			ticks = append(ticks, math.Pow(10, e))
		}
	} else {
		for v := 0.; v < high+p.Step; v += p.Step {
			ticks = append(ticks, v)
		}
	}
	from, to := scale(ticks[0]), scale(ticks[len(ticks)-1])
	x := func(v float64) float64 { return left + (scale(v)-from)/(to-from)*(width-left-right) }
	y := func(row int) int { return top + row*rowGap }
	end := y(len(p.Rows)-1) + rowGap/2
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n",
		width, end+30)
	fmt.Fprintf(&b, `<title>%s</title><rect width="100%%" height="100%%" fill="white"/><text x="%d" y="18">%s</text>`+"\n",
		p.Title, left, p.Title)
	for _, v := range ticks {
		fmt.Fprintf(&b, `<path d="M%.0f %dV%d" stroke="#ddd"/><text x="%.0f" y="%d" text-anchor="middle">%s</text>`+"\n",
			x(v), top-rowGap/2, end, x(v), end+18, p.Tick(v))
	}
	for i, row := range p.Rows {
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", left-8, y(i)+4, row)
	}
	for i, s := range p.series {
		color := []string{"#2a9d5c", "#1b6ca8", "#d1495b"}[i%3]
		fmt.Fprintf(&b, `<path d="M%d 36h0`, left+i*170)
		for row := range p.Rows {
			if v, has := s.values[row]; has {
				fmt.Fprintf(&b, "M%.0f %dh0", x(v), y(row))
			}
		}
		fmt.Fprintf(&b, `" stroke="%s" stroke-width="9" stroke-linecap="round"/><text x="%d" y="40">%s</text>`+"\n",
			color, left+i*170+10, html.EscapeString(s.name))
	}
	b.WriteString("</svg>\n")
	return b.String()
}
