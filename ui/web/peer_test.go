package web

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// lookups are the ways to find a socket, each of which must do alone.
var lookups = []struct {
	name string
	find func(tcpEnds) (int, bool, error)
}{{"sock_diag", sockDiagUID}, {"proc", procTCPUID}}

// eachLookup runs f with every way to find a socket that this kernel has, and with peerUID over them.
func eachLookup(t *testing.T, f func(t *testing.T, uidOf func(local, remote netip.AddrPort) (int, bool))) {
	for _, l := range lookups {
		t.Run(l.name, func(t *testing.T) {
			c, _ := connect(t, "127.0.0.1:0", "")
			local, remote := addrs(c)
			_, _, err := l.find(tcpEnds{own: remote, far: local})
			for _, no := range []error{unix.EPERM, unix.EACCES, unix.ENOENT, unix.EPROTONOSUPPORT, unix.EAFNOSUPPORT} {
				if errors.Is(err, no) {
					t.Skipf("this kernel can't be asked so: %v", err)
				}
			}
			if err != nil { // anything else is for us to have asked rightly
				t.Fatal(err)
			}
			f(t, func(local, remote netip.AddrPort) (int, bool) {
				uid, ok, err := l.find(tcpEnds{own: plainAddr(remote), far: plainAddr(local)})
				return uid, ok && err == nil
			})
		})
	}
	t.Run("both", func(t *testing.T) { f(t, peerUID) })
}

func listen(t testing.TB, network, address string) *net.TCPListener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		if strings.HasPrefix(address, "[") && (errors.Is(err, unix.EADDRNOTAVAIL) || errors.Is(err, unix.EAFNOSUPPORT)) {
			t.Skipf("no IPv6 here: %v", err)
		}
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.(*net.TCPListener)
}

func accept(t testing.TB, l *net.TCPListener) *net.TCPConn {
	t.Helper()
	c, err := l.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// dial connects from an address, or from any.
func dial(t testing.TB, from, to string) *net.TCPConn {
	t.Helper()
	var d net.Dialer
	if from != "" {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.MustParseAddrPort(from))
	}
	c, err := d.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c.(*net.TCPConn)
}

// connect is a connection to a listener at address: the accepted end and the dialled one.
func connect(t testing.TB, address, from string) (accepted, dialled *net.TCPConn) {
	t.Helper()
	l := listen(t, "tcp", address)
	dialled = dial(t, from, l.Addr().String())
	return accept(t, l), dialled
}

func addrs(c *net.TCPConn) (local, remote netip.AddrPort) {
	return c.LocalAddr().(*net.TCPAddr).AddrPort(), c.RemoteAddr().(*net.TCPAddr).AddrPort()
}

// dialRaw connects a socket of a family to an address, after f.
func dialRaw(t *testing.T, family int, to unix.Sockaddr, f func(fd int) error) {
	t.Helper()
	fd, err := unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Skipf("no such sockets here: %v", err)
	}
	t.Cleanup(func() { _ = unix.Close(fd) })
	if f != nil {
		if err := f(fd); err != nil {
			t.Skipf("sockets can't be set so here: %v", err)
		}
	}
	if err := unix.Connect(fd, to); err != nil {
		t.Fatal(err)
	}
}

func wantUID(t *testing.T, uidOf func(local, remote netip.AddrPort) (int, bool), c *net.TCPConn, want int) {
	t.Helper()
	local, remote := addrs(c)
	if uid, ok := uidOf(local, remote); !ok || uid != want {
		t.Errorf("peer of %v at %v: uid %d, %v; want %d", local, remote, uid, ok, want)
	}
}

func wantNobody(t *testing.T, uidOf func(local, remote netip.AddrPort) (int, bool), local, remote netip.AddrPort) {
	t.Helper()
	if uid, ok := uidOf(local, remote); ok {
		t.Errorf("peer of %v at %v: uid %d; want it unknown", local, remote, uid)
	}
}

func TestALoopbackPeerIsKnown(t *testing.T) {
	for _, c := range []struct{ name, listen, from string }{
		{"IPv4", "127.0.0.1:0", ""},
		{"IPv4 elsewhere in 127", "127.1.2.3:0", "127.200.0.9:0"},
		{"IPv6", "[::1]:0", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			eachLookup(t, func(t *testing.T, uidOf func(local, remote netip.AddrPort) (int, bool)) {
				accepted, _ := connect(t, c.listen, c.from)
				wantUID(t, uidOf, accepted, os.Getuid())
			})
		})
	}
}

// The listener and the dialler choose their families on their own, and each choice may hide the
// connection in the other's list.
func TestAPeerWithAMappedAddressIsKnown(t *testing.T) {
	for _, network := range []string{"tcp4", "tcp"} {
		for _, family := range []int{unix.AF_INET, unix.AF_INET6} {
			t.Run(network+" dialled by family "+strconv.Itoa(family), func(t *testing.T) {
				eachLookup(t, func(t *testing.T, uidOf func(local, remote netip.AddrPort) (int, bool)) {
					l := listen(t, network, ":0") // "tcp" is an AF_INET6 socket for both
					port := l.Addr().(*net.TCPAddr).Port
					var to unix.Sockaddr = &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
					if family == unix.AF_INET6 {
						to = &unix.SockaddrInet6{Port: port, Addr: netip.MustParseAddr("::ffff:127.0.0.1").As16()}
					}
					dialRaw(t, family, to, nil)
					c := accept(t, l)
					wantUID(t, uidOf, c, os.Getuid())
					local, remote := addrs(c)
					local, remote = mapped(local), mapped(remote)
					if uid, ok := uidOf(local, remote); !ok || uid != os.Getuid() {
						t.Errorf("peer of %v at %v: uid %d, %v", local, remote, uid, ok)
					}
				})
			})
		}
	}
}

func mapped(a netip.AddrPort) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom16(a.Addr().As16()), a.Port())
}

func TestAPeerBoundToTheLoopbackDeviceIsKnown(t *testing.T) {
	eachLookup(t, func(t *testing.T, uidOf func(local, remote netip.AddrPort) (int, bool)) {
		l := listen(t, "tcp4", "127.0.0.1:0")
		to := &unix.SockaddrInet4{Port: l.Addr().(*net.TCPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}
		dialRaw(t, unix.AF_INET, to, func(fd int) error { return unix.BindToDevice(fd, "lo") })
		wantUID(t, uidOf, accept(t, l), os.Getuid())
	})
}

// What a closed socket leaves behind reads as root's.
func TestAPeerThatClosedIsNobody(t *testing.T) {
	eachLookup(t, func(t *testing.T, uidOf func(local, remote netip.AddrPort) (int, bool)) {
		accepted, dialled := connect(t, "127.0.0.1:0", "")
		local, remote := addrs(accepted)
		_ = dialled.Close() // FIN_WAIT
		wantNobody(t, uidOf, local, remote)
		_ = accepted.Close() // TIME_WAIT
		wantNobody(t, uidOf, local, remote)
	})
}

// Such a socket is open, but it is the kernel's until it is accepted, with inode 0 and, on many kernels, uid 0.
func TestAPeerWithoutAnOwnerIsNobody(t *testing.T) {
	eachLookup(t, func(t *testing.T, uidOf func(local, remote netip.AddrPort) (int, bool)) {
		l := listen(t, "tcp", "127.0.0.1:0")
		dialled := dial(t, "", l.Addr().String())
		local, remote := addrs(dialled)
		wantNobody(t, uidOf, local, remote)
		accept(t, l)
		wantUID(t, uidOf, dialled, os.Getuid())
	})
}

func TestAPeerThatHalfClosedIsNobody(t *testing.T) {
	eachLookup(t, func(t *testing.T, uidOf func(local, remote netip.AddrPort) (int, bool)) {
		accepted, dialled := connect(t, "127.0.0.1:0", "")
		if err := dialled.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		local, remote := addrs(accepted)
		wantNobody(t, uidOf, local, remote)
	})
}

// The kernel answers a question about a connection that isn't there with the socket that listens on its port.
func TestAListenerIsNoPeer(t *testing.T) {
	eachLookup(t, func(t *testing.T, uidOf func(local, remote netip.AddrPort) (int, bool)) {
		l := listen(t, "tcp", "127.0.0.1:0")
		listening := l.Addr().(*net.TCPAddr).AddrPort()
		wantNobody(t, uidOf, netip.MustParseAddrPort("127.0.0.1:1"), listening)
		wantNobody(t, uidOf, netip.MustParseAddrPort("127.0.0.1:0"), listening)
	})
}

func TestAnAddressBesideThePeersIsNobody(t *testing.T) {
	eachLookup(t, func(t *testing.T, uidOf func(local, remote netip.AddrPort) (int, bool)) {
		accepted, _ := connect(t, "127.0.0.1:0", "")
		local, remote := addrs(accepted)
		other := netip.MustParseAddr("127.0.0.2")
		wantNobody(t, uidOf, local, netip.AddrPortFrom(other, remote.Port()))
		wantNobody(t, uidOf, netip.AddrPortFrom(other, local.Port()), remote)
		wantNobody(t, uidOf, netip.AddrPortFrom(local.Addr(), local.Port()^1), remote)
	})
}

func TestOnlyLoopbackIsLookedUp(t *testing.T) {
	for _, c := range []struct{ local, remote string }{
		{"192.0.2.1:80", "127.0.0.1:4000"},
		{"127.0.0.1:80", "192.0.2.1:4000"},
		{"[2001:db8::1]:80", "[::1]:4000"},
		{"[::1]:80", "[::ffff:192.0.2.1]:4000"},
		{"0.0.0.0:80", "0.0.0.0:4000"},
		{"[::]:80", "[::]:4000"},
		{"[::1]:80", "127.0.0.1:4000"},
		{"128.0.0.1:80", "126.255.255.255:4000"},
	} {
		wantNobody(t, peerUID, netip.MustParseAddrPort(c.local), netip.MustParseAddrPort(c.remote))
	}
	wantNobody(t, peerUID, netip.AddrPort{}, netip.AddrPort{})
}

// A connection of our own over another of this machine's addresses goes through lo too, but its peer could
// as well be elsewhere.
func TestAPeerAtThisMachinesOtherAddressIsNobody(t *testing.T) {
	found, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range found {
		n, ok := a.(*net.IPNet)
		if !ok || n.IP.IsLoopback() || n.IP.To4() == nil {
			continue
		}
		accepted, _ := connect(t, net.JoinHostPort(n.IP.String(), "0"), "")
		local, remote := addrs(accepted)
		wantNobody(t, peerUID, local, remote)
		if uid, ok := acceptedUID(accepted); ok {
			t.Errorf("accepted from %v: uid %d", remote, uid)
		}
		return
	}
	t.Skip("this machine has loopback addresses only")
}

// The other user is this test program once more, started by TestAPeerOfAnotherUserIsToldExactly.
func TestDialAsAnotherUser(t *testing.T) {
	to := os.Getenv("PASAR_TEST_DIAL")
	if to == "" {
		t.Skip("no test of its own")
	}
	c, err := net.Dial("tcp", to)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the test has seen enough
	_ = c.Close()
}

func TestAPeerOfAnotherUserIsToldExactly(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can be somebody else")
	}
	for _, want := range []int{65534, 70001} {
		eachLookup(t, func(t *testing.T, uidOf func(local, remote netip.AddrPort) (int, bool)) {
			l := listen(t, "tcp", "127.0.0.1:0")
			// The program's own path may lead through a directory of root's; this link doesn't.
			cmd := exec.Command("/proc/self/exe", "-test.run=^TestDialAsAnotherUser$")
			cmd.Dir = "/"
			cmd.Env = []string{"PASAR_TEST_DIAL=" + l.Addr().String()}
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL,
				Credential: &syscall.Credential{Uid: uint32(want), Gid: 65534}}
			cmd.Stdout, cmd.Stderr = t.Output(), t.Output()
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				if errors.Is(err, unix.EPERM) || errors.Is(err, unix.EINVAL) {
					t.Skipf("this root can't be somebody else: %v", err)
				}
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() {
				ended <- cmd.Wait()
				_ = l.Close() // a child that never dialled isn't waited for
			}()
			c := accept(t, l)
			wantUID(t, uidOf, c, want)
			if uid, ok := acceptedUID(c); !ok || uid != want {
				t.Errorf("accepted from uid %d, %v; want %d", uid, ok, want)
			}
			_ = stdin.Close()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

func TestTheListsAreReadOnlyIfTheKernelCannotBeAsked(t *testing.T) {
	cannot := func(tcpEnds) (int, bool, error) { return 1, true, unix.EPERM }
	nobody := func(tcpEnds) (int, bool, error) { return -1, false, nil }
	somebody := func(tcpEnds) (int, bool, error) { return 1000, true, nil }
	type lookup = func(tcpEnds) (int, bool, error)
	for _, c := range []struct {
		name    string
		lookups []lookup
		uid     int
		ok      bool
	}{
		{"the first can't tell", []lookup{cannot, somebody}, 1000, true},
		{"the first knows of nobody", []lookup{nobody, somebody}, -1, false},
		{"the first knows", []lookup{somebody, nobody}, 1000, true},
		{"none can tell", []lookup{cannot, cannot}, -1, false},
	} {
		if uid, ok := firstAnswer(peer4, c.lookups...); uid != c.uid || ok != c.ok {
			t.Errorf("%s: uid %d, %v; want %d, %v", c.name, uid, ok, c.uid, c.ok)
		}
	}
}

func TestAnAcceptedPeerIsKnown(t *testing.T) {
	accepted, dialled := connect(t, "127.0.0.1:0", "")
	if uid, ok := acceptedUID(accepted); !ok || uid != os.Getuid() {
		t.Errorf("uid %d, %v; want %d", uid, ok, os.Getuid())
	}
	_ = dialled.Close()
	if uid, ok := acceptedUID(accepted); ok {
		t.Errorf("closed by its peer: uid %d", uid)
	}
	_ = accepted.Close()
	if uid, ok := acceptedUID(accepted); ok {
		t.Errorf("closed: uid %d", uid)
	}
}

// What a peer sent before it reset the connection can still be read, as if from whoever has its port now.
func TestAConnectionThatWasResetIsNotTheNextOneFromItsPort(t *testing.T) {
	l := listen(t, "tcp", "127.0.0.1:0")
	first := dial(t, "127.87.3.1:0", l.Addr().String()) // where no other program is likely to take the port
	old := accept(t, l)
	if _, err := io.WriteString(first, "approve\n"); err != nil {
		t.Fatal(err)
	}
	from := first.LocalAddr().String()
	if err := first.SetLinger(0); err != nil {
		t.Fatal(err)
	}
	_ = first.Close() // resets
	dial(t, from, l.Addr().String())
	accept(t, l)

	wantUID(t, peerUID, old, os.Getuid()) // all that the addresses can tell
	if uid, ok := acceptedUID(old); ok {
		t.Errorf("uid %d for a connection that was reset", uid)
	}
	if line, err := bufio.NewReader(old).ReadString('\n'); line != "approve\n" {
		t.Logf("what was sent before the reset is lost here: %q, %v", line, err)
	}
}

func BenchmarkPeerUID(b *testing.B) {
	accepted, _ := connect(b, "127.0.0.1:0", "")
	local, remote := addrs(accepted)
	for _, l := range lookups {
		b.Run(l.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, ok, err := l.find(tcpEnds{own: remote, far: local}); !ok {
					b.Skip(err)
				}
			}
		})
	}
	b.Run("both", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, ok := peerUID(local, remote); !ok {
				b.Fatal("no peer")
			}
		}
	})
}
