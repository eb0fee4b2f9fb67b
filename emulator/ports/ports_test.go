package ports

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

const host = "127.0.0.1"

func linuxOnly(t *testing.T) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("elsewhere a port that is bound cannot be listened on")
	}
}

func TestTheProgramCanListenAndNobodyElseDoes(t *testing.T) {
	linuxOnly(t)
	r, err := Reserve(t.Context(), host, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	if c, err := net.Dial("tcp", r.Address); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Fatalf("before the program listens: %v, %v, want a refusal", c, err)
	}
	listener, err := net.Listen("tcp", r.Address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // nothing of it is wanted
	c, err := net.Dial("tcp", r.Address)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close() // nothing of it is wanted
	if _, err := Reserve(t.Context(), host, r.Port); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("reserved again while it is listened on: %v", err)
	}
}

// TestNobodyIsGivenAReservedPort asks for any port as often as there are ports to give, for listeners and for outgoing
// connections, several at once, as busy test processes do.
func TestNobodyIsGivenAReservedPort(t *testing.T) {
	linuxOnly(t)
	reserved := map[int]bool{}
	for range 200 {
		r, err := Reserve(t.Context(), host, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Release()
		reserved[r.Port] = true
	}
	target, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = target.Close() }() // nothing of it is wanted
	go func() {
		for {
			c, err := target.Accept()
			if err != nil {
				return
			}
			go func() {
				_, _ = c.Read(make([]byte, 1)) // until the other side is gone
				_ = c.Close()                  // nothing of it is wanted
			}()
		}
	}()
	var askers sync.WaitGroup
	for range 4 {
		askers.Go(func() {
			for range 3000 {
				listener, err := net.Listen("tcp", host+":0")
				if err != nil {
					t.Error(err)
					return
				}
				if port := listener.Addr().(*net.TCPAddr).Port; reserved[port] {
					t.Errorf("port %d was reserved, and a listener was given it", port)
				}
				_ = listener.Close() // nothing of it is wanted
				c, err := net.Dial("tcp", target.Addr().String())
				if err != nil {
					t.Error(err)
					return
				}
				if port := c.LocalAddr().(*net.TCPAddr).Port; reserved[port] {
					t.Errorf("port %d was reserved, and a connection was given it", port)
				}
				_ = c.(*net.TCPConn).SetLinger(0) // so that the ports do not run out
				_ = c.Close()                     // nothing of it is wanted
			}
		})
	}
	askers.Wait()
}

func TestATakenPortIsRefused(t *testing.T) {
	listener, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }() // nothing of it is wanted
	if _, err := Reserve(t.Context(), host, listener.Addr().(*net.TCPAddr).Port); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("error %v, want %v", err, syscall.EADDRINUSE)
	}
}
