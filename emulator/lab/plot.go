package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Sizes of a plot.
const (
	plotWidth, plotHeight = 720, 420
	left, right           = 70, 190
	top, bottom           = 20, 50
)

var colors = []string{"#1b6ca8", "#2a9d5c", "#d1495b", "#8a5fb0", "#c77b0a"}

// line is what a plot shows of some runs.
type line struct {
	name   string
	dashed bool
	points [][2]float64 // items and seconds
}

// plot draws the time by the number of items, both by their logarithms: a straight line at 45 degrees is time that grows as
// the items do.
func (m measured) plot(runs []run) string {
	var lines []line
	add := func(name string, dashed bool, items, took float64) {
		i := slices.IndexFunc(lines, func(l line) bool { return l.name == name })
		if i < 0 {
			i = len(lines)
			lines = append(lines, line{name: name, dashed: dashed})
		}
		lines[i].points = append(lines[i].points, [2]float64{items, took})
	}
	most := m.usual
	for _, r := range runs {
		most = max(most, r.Items)
	}
	for _, r := range runs {
		switch {
		case !r.Seed:
			add(fmt.Sprintf("job, %s", r.Link.Firestore), false, float64(r.Items), r.Elapsed.Seconds())
		case r.Link.Firestore > 0:
			name := fmt.Sprintf("seed, %s", r.Link.Firestore)
			add(name, true, float64(r.Items), r.Elapsed.Seconds())
			add(name, true, float64(most), r.Elapsed.Seconds()*float64(most)/float64(r.Items))
		}
	}
	if m.least != nil {
		for _, n := range []int{min(1000, most), most} {
			add("quota", true, float64(n), m.least(n).Seconds())
		}
	}
	x, y := axis(lines, 0), axis(lines, 1)
	px := func(v float64) float64 { return left + x.at(v)*(plotWidth-left-right) }
	py := func(v float64) float64 { return plotHeight - bottom - y.at(v)*(plotHeight-top-bottom) }
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" font-family="sans-serif" font-size="12">`+"\n", plotWidth, plotHeight)
	fmt.Fprintf(&b, `<title>%s, %s: time by items</title><rect width="100%%" height="100%%" fill="white"/>`+"\n", m.job, m.name)
	for e := x.low; e <= x.high; e++ {
		v := math.Pow10(e)
		fmt.Fprintf(&b, `<path d="M%.1f %dV%d" stroke="#ddd"/><text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", px(v), top, plotHeight-bottom, px(v), plotHeight-bottom+18, thousands(int(v)))
	}
	for e := y.low; e <= y.high; e++ {
		v := math.Pow10(e)
		fmt.Fprintf(&b, `<path d="M%d %.1fH%d" stroke="#ddd"/><text x="%d" y="%.1f" text-anchor="end">%s</text>`+"\n", left, py(v), plotWidth-right, left-8, py(v)+4, tick(v))
	}
	fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", (left+plotWidth-right)/2, plotHeight-10, m.items)
	for i, l := range lines {
		dash := ""
		if l.dashed {
			dash = ` stroke-dasharray="6 4"`
		}
		color := colors[i%len(colors)]
		var path []string
		for _, p := range l.points {
			path = append(path, fmt.Sprintf("%.1f,%.1f", px(p[0]), py(p[1])))
			fmt.Fprintf(&b, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", px(p[0]), py(p[1]), color)
		}
		fmt.Fprintf(&b, `<polyline points="%s" fill="none" stroke="%s" stroke-width="2"%s/>`+"\n", strings.Join(path, " "), color, dash)
		fmt.Fprintf(&b, `<path d="M%d %dh24" stroke="%s" stroke-width="2"%s/><text x="%d" y="%d">%s</text>`+"\n", plotWidth-right+14, top+12+20*i, color, dash, plotWidth-right+46, top+16+20*i, l.name)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// scale is an axis from one power of ten to another.
type scale struct{ low, high int }

func axis(lines []line, of int) scale {
	low, high := math.Inf(1), math.Inf(-1)
	for _, l := range lines {
		for _, p := range l.points {
			if p[of] > 0 {
				low, high = min(low, p[of]), max(high, p[of])
			}
		}
	}
	s := scale{int(math.Floor(math.Log10(low))), int(math.Ceil(math.Log10(high)))}
	s.high = max(s.high, s.low+1)
	return s
}

// at returns where a value lies on the axis, from 0 to 1.
func (s scale) at(v float64) float64 {
	if v <= 0 {
		return 0
	}
	return (math.Log10(v) - float64(s.low)) / float64(s.high-s.low)
}

// tick writes a power of ten of seconds.
func tick(v float64) string {
	if v < 0.1 {
		return fmt.Sprintf("%g s", v)
	}
	return lasting(time.Duration(v * float64(time.Second)))
}
