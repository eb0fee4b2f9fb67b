package sweep

// Guard calls f and returns its panic, if it panics, as an error that holds the stack. Effects run under it; a goroutine
// that an effect starts does not, and there a panic would end the process and with it every run. So whoever starts one
// guards it: a panic is then the failure of its item.
func Guard(f func() error) (err error) {
	defer recoverTo(&err)
	return f()
}
