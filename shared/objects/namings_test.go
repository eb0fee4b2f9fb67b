package objects

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// namer makes names.
type namer struct {
	*rand.Rand
	users []string
	i, n  int
}

func (r namer) text(n int) string {
	b := make([]byte, n)
	for k := range b {
		b[k] = base62[r.IntN(len(base62))]
	}
	return string(b)
}

func (r namer) kanji(n int) string {
	b := make([]rune, n)
	for k := range b {
		b[k] = '\u4e00' + rune(r.IntN(5000))
	}
	return string(b)
}

// naming is a way to name objects: how long a listing takes depends on how their names look.
type naming struct {
	name string
	make func(r namer) string // the i-th of n names
}

// namings: where a listing is cut depends on how many names come before, so that one kind stands for each way in which names
// differ: in length, letters and order, and in how many share a folder.
var namings = []naming{
	{"uidmillis", func(r namer) string {
		return r.users[r.i/20] + "/" + fmt.Sprint(1600000000000+int64(r.i%20)*5_000_000_000+int64(r.i%7)*1000003) + ".jpg"
	}},
	{"unicode", func(r namer) string { return r.kanji(3) + "/" + r.kanji(2) + ".jpg" }},
	{"unpadded", func(r namer) string { return fmt.Sprintf("%d.jpg", r.i) }},
	{"heavy", func(r namer) string {
		if r.i%10 > 0 {
			return "heavyUser0000000000000000000/" + r.text(16) + ".jpg"
		}
		return r.text(28) + "/" + r.text(16) + ".jpg"
	}},
	{"longest", func(r namer) string {
		return strings.Repeat("写", 300) + r.text(1024-len("posts/")-900-1) + "/"
	}},
	{"client", func(r namer) string { // somebody's files with the longest names, behind everybody's
		if r.i%4 > 0 {
			return r.users[r.i/50] + "/" + r.text(20)
		}
		return "~" + r.text(1017)
	}},
}

// names returns about n names, in order and each once. They all begin with posts/.
func (k naming) names(n int) []string {
	r := namer{Rand: rand.New(rand.NewPCG(7, 9)), n: n}
	for range n/20 + 1 {
		r.users = append(r.users, r.text(28))
	}
	out := make([]string, 0, n)
	for r.i = range n {
		out = append(out, "posts/"+k.make(r))
	}
	slices.Sort(out)
	return slices.Compact(out)
}
