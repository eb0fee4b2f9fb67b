package main

import "strings"

// column is one column of a table.
type column struct {
	name  string
	right bool // numbers
	path  bool // what is left of the screen's width, and not wrapped at spaces
	most  int  // columns; 0: as wide as its texts
}

// row is one row of a table, and what stands below it.
type row struct {
	cells []string
	style string   // of the cells
	notes []string // texts below
	paths []string // below them, one a line where it fits
}

const gap = "  "

// table writes rows under a heading. Texts that do not fit their column are wrapped; nothing is cut.
func (p *printer) table(cols []column, rows []row) {
	const indent = 2
	widths := make([]int, len(cols))
	used := indent + len(gap)*(len(cols)-1)
	for i, c := range cols {
		widths[i] = columns(c.name)
		for _, r := range rows {
			widths[i] = max(widths[i], columns(plain(r.cells[i])))
		}
		if c.most > 0 {
			widths[i] = min(widths[i], max(c.most, columns(c.name)))
		}
		if !c.path {
			used += widths[i]
		}
	}
	for i, c := range cols {
		if c.path {
			widths[i] = min(widths[i], max(p.width-used, columns(c.name)))
		}
	}
	names := make([]string, len(cols))
	for i, c := range cols {
		names[i] = c.name
	}
	p.cells(indent, cols, widths, names, faint)
	for _, r := range rows {
		p.cells(indent, cols, widths, r.cells, r.style)
		for _, note := range r.notes {
			p.say(faint, indent+2, 2, "%s", note)
		}
		for _, path := range r.paths {
			for i, line := range wrapPath(plain(path), max(p.width-indent-4, leastWidth/2)) {
				p.line(strings.Repeat(" ", indent+2) + p.style(faint, []string{"- ", "  "}[min(i, 1)]+line))
			}
		}
	}
}

func (p *printer) cells(indent int, cols []column, widths []int, cells []string, style string) {
	wrapped, height := make([][]string, len(cells)), 1
	for i, cell := range cells {
		if wrapped[i] = wrap(plain(cell), widths[i]); cols[i].path {
			wrapped[i] = wrapPath(plain(cell), widths[i])
		}
		height = max(height, len(wrapped[i]))
	}
	for n := range height {
		var b strings.Builder
		for i := range cells {
			text := ""
			if n < len(wrapped[i]) {
				text = wrapped[i][n]
			}
			padding := strings.Repeat(" ", widths[i]-columns(text))
			if cols[i].right {
				text = padding + text
			} else {
				text += padding
			}
			if i > 0 {
				b.WriteString(gap)
			}
			b.WriteString(text)
		}
		p.line(strings.Repeat(" ", indent) + p.style(style, strings.TrimRight(b.String(), " ")))
	}
}
