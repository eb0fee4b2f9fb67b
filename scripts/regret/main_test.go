package main

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPage: the page is what the command writes.
func TestPage(t *testing.T) {
	if err := run("../../docs", true); err != nil {
		t.Error(err)
	}
}

// TestJudge: a rule of 30 days runs once a day, deletes an item once, and regrets it if somebody comes back to it later.
func TestJudge(t *testing.T) {
	const touched = 400. // its 30 days are over on day 430
	for name, c := range map[string]struct {
		item
		want outcome
	}{
		"forgotten":               {item{touched: []float64{touched}}, outcome{deleted: 1, waiting: 30. / 365}},
		"needed before that run":  {item{touched: []float64{touched, 430}, deleted: true}, outcome{}},
		"needed after that run":   {item{touched: []float64{touched, 430.01}}, outcome{deleted: 1, regretted: 1}},
		"needed after all years":  {item{touched: []float64{touched, seen}}, outcome{deleted: 1}},
		"deleted by its owner":    {item{touched: []float64{touched}, deleted: true}, outcome{}},
		"due before the year":     {item{touched: []float64{334}}, outcome{}},
		"due as the year begins":  {item{touched: []float64{335}}, outcome{deleted: 1}},
		"due as the year is over": {item{touched: []float64{700}}, outcome{waiting: 30. / 365}},
		"again after a deletion":  {item{touched: []float64{touched, 500, 600}}, outcome{deleted: 1, regretted: 1}},
	} {
		got := judge([]item{c.item}, 30)
		got.waiting, c.want.waiting = math.Round(got.waiting*1e6), math.Round(c.want.waiting*1e6)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(outcome{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
