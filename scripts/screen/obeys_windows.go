package screen

import (
	"os"
	"syscall"
)

var setMode = syscall.NewLazyDLL("kernel32.dll").NewProc("SetConsoleMode")

// obeys asks the console to take codes as commands, which a program must.
func obeys(out *os.File) bool {
	const virtualTerminal = 4 // ENABLE_VIRTUAL_TERMINAL_PROCESSING
	var mode uint32
	if err := syscall.GetConsoleMode(syscall.Handle(out.Fd()), &mode); err != nil {
		return false
	}
	done, _, _ := setMode.Call(out.Fd(), uintptr(mode|virtualTerminal)) // fails before Windows 10
	return done != 0
}
