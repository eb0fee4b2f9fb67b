package main

import "time"

// chain is requests one after the other.
type chain struct{ firestore, storage, listings int }

// takes returns how long a chain takes on a link, if nothing else takes any time.
func (c chain) takes(firestore time.Duration) time.Duration {
	return time.Duration(c.firestore+c.storage+3*c.listings) * firestore
}

func seedMedia(int) func(int) chain { return nil }
func seedReports(int) chain         { return chain{} }
