package web

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net/netip"
	"testing"

	"golang.org/x/sys/unix"
)

var (
	peer4 = tcpEnds{own: netip.MustParseAddrPort("127.0.0.1:65535"), far: netip.MustParseAddrPort("127.0.0.2:80")}
	peer6 = tcpEnds{own: netip.MustParseAddrPort("[::1]:4660"), far: netip.MustParseAddrPort("[::1]:80")}
)

// diagReply is the kernel's answer to request seq about a socket.
func diagReply(seq uint32, family, state uint8, s tcpEnds, uid, inode uint32) []byte {
	b := make([]byte, nlHeader+diagAnswer)
	ne := binary.NativeEndian
	ne.PutUint32(b, uint32(len(b)))
	ne.PutUint16(b[4:], unix.SOCK_DIAG_BY_FAMILY)
	ne.PutUint32(b[8:], seq)
	m := b[nlHeader:]
	m[0], m[1] = family, state
	copy(m[4:], sockDiagRequest(seq, family, s)[nlHeader+8:])
	ne.PutUint32(m[diagUID:], uid)
	ne.PutUint32(m[diagInode:], inode)
	return b
}

// diagRefusal is the kernel's refusal of request seq, with a number as it is on the wire.
func diagRefusal(seq uint32, no int32) []byte {
	b := make([]byte, nlHeader+4)
	ne := binary.NativeEndian
	ne.PutUint32(b, uint32(len(b)))
	ne.PutUint16(b[4:], unix.NLMSG_ERROR)
	ne.PutUint32(b[8:], seq)
	ne.PutUint32(b[nlHeader:], uint32(no))
	return b
}

// edited is b after f.
func edited(b []byte, f func(b []byte)) []byte {
	f(b)
	return b
}

func TestSockDiagAnswersForTheSocketThatWasAskedAbout(t *testing.T) {
	listener := tcpEnds{own: peer4.own, far: netip.MustParseAddrPort("0.0.0.0:0")}
	turned := tcpEnds{own: peer4.far, far: peer4.own}
	for _, c := range []struct {
		name  string
		asked tcpEnds
		reply []byte
		uid   int
		ok    bool
	}{
		{"IPv4", peer4, diagReply(1, unix.AF_INET, 1, peer4, 1000, 7), 1000, true},
		{"IPv6", peer6, diagReply(1, unix.AF_INET6, 1, peer6, 1000, 7), 1000, true},
		{"mapped", peer4, diagReply(1, unix.AF_INET6, 1, peer4, 1000, 7), 1000, true},
		{"a large uid", peer4, diagReply(1, unix.AF_INET, 1, peer4, 4294967294, 4294967295), 4294967294, true},
		{"root", peer4, diagReply(1, unix.AF_INET, 1, peer4, 0, 7), 0, true},
		{"no owner", peer4, diagReply(1, unix.AF_INET, 1, peer4, 1000, 0), -1, false},
		{"TIME_WAIT", peer4, diagReply(1, unix.AF_INET, 6, peer4, 1000, 7), -1, false},
		{"FIN_WAIT2", peer4, diagReply(1, unix.AF_INET, 5, peer4, 1000, 7), -1, false},
		{"CLOSE_WAIT", peer4, diagReply(1, unix.AF_INET, 8, peer4, 1000, 7), -1, false},
		{"a listener", peer4, diagReply(1, unix.AF_INET, 10, listener, 1000, 7), -1, false},
		{"a listener that says it is connected", peer4, diagReply(1, unix.AF_INET, 1, listener, 1000, 7), -1, false},
		{"our own end", peer4, diagReply(1, unix.AF_INET, 1, turned, 1000, 7), -1, false},
		{"another connection", peer4, diagReply(1, unix.AF_INET6, 1, peer6, 1000, 7), -1, false},
		{"another family", peer4, edited(diagReply(1, unix.AF_INET, 1, peer4, 1000, 7), func(b []byte) { b[nlHeader] = unix.AF_UNIX }), -1, false},
	} {
		uid, ok, err := readSockDiag(c.reply, 1, c.asked)
		if uid != c.uid || ok != c.ok || err != nil {
			t.Errorf("%s: uid %d, %v, %v; want %d, %v", c.name, uid, ok, err, c.uid, c.ok)
		}
	}
}

func TestWhatIsNoAnswerFromSockDiagIsAnError(t *testing.T) {
	good := func() []byte { return diagReply(1, unix.AF_INET, 1, peer4, 1000, 7) }
	ne := binary.NativeEndian
	for _, c := range []struct {
		name  string
		reply []byte
		is    error
	}{
		{"no such socket", diagRefusal(1, -int32(unix.ENOENT)), unix.ENOENT},
		{"not allowed", diagRefusal(1, -int32(unix.EPERM)), unix.EPERM},
		{"an acknowledgement", diagRefusal(1, 0), nil},
		{"a positive error", diagRefusal(1, 5), nil},
		{"the least error", diagRefusal(1, -1<<31), nil},
		{"half an error", edited(diagRefusal(1, -2), func(b []byte) { ne.PutUint32(b, nlHeader+2) }), nil},
		{"nothing", nil, nil},
		{"half a header", good()[:nlHeader-1], nil},
		{"a header", edited(good()[:nlHeader], func(b []byte) { ne.PutUint32(b, nlHeader) }), nil},
		{"cut short", good()[:nlHeader+diagAnswer-1], nil},
		{"a length short of the header", edited(good(), func(b []byte) { ne.PutUint32(b, 3) }), nil},
		{"a length short of the answer", edited(good(), func(b []byte) { ne.PutUint32(b, nlHeader+diagAnswer-1) }), nil},
		{"a length beyond the end", edited(good(), func(b []byte) { ne.PutUint32(b, 1<<32-1) }), nil},
		{"another request's", diagReply(2, unix.AF_INET, 1, peer4, 1000, 7), nil},
		{"the end of a list", edited(good(), func(b []byte) { ne.PutUint16(b[4:], unix.NLMSG_DONE) }), nil},
	} {
		uid, ok, err := readSockDiag(c.reply, 1, peer4)
		if uid != -1 || ok || err == nil || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: uid %d, %v, error %v", c.name, uid, ok, err)
		}
	}
}

func FuzzSockDiag(f *testing.F) {
	f.Add(diagReply(1, unix.AF_INET, 1, peer4, 1000, 7))
	f.Add(diagReply(1, unix.AF_INET6, 1, peer4, 1000, 7))
	f.Add(diagReply(1, unix.AF_INET6, 1, peer6, 1000, 7))
	f.Add(diagReply(1, unix.AF_INET, 6, peer4, 0, 0))
	f.Add(diagRefusal(1, -int32(unix.ENOENT)))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, s := range []tcpEnds{peer4, peer6} {
			uid, ok, err := readSockDiag(b, 1, s)
			if !ok {
				if uid != -1 {
					t.Errorf("uid %d, not ok", uid)
				}
				continue
			}
			// What is found is what the kernel would write, but for what isn't read.
			if err != nil || len(b) < nlHeader+diagAnswer {
				t.Fatalf("found in %d bytes, with error %v", len(b), err)
			}
			m := b[nlHeader:]
			inode := binary.NativeEndian.Uint32(m[diagInode:])
			want := diagReply(1, m[0], tcpEstablished, s, uint32(uid), inode)[nlHeader:]
			addrs := 4 + 36
			if m[0] == unix.AF_INET { // the twelve bytes after each address mean nothing
				copy(want[4+8:4+20], m[4+8:])
				copy(want[4+24:4+36], m[4+24:])
			}
			if inode == 0 || m[1] != tcpEstablished || !bytes.Equal(m[4:addrs], want[4:addrs]) {
				t.Errorf("found %v in % x", s, b)
			}
		}
	})
}

// With another cookie the kernel says that there is no such socket, as it does when it can't be asked at all.
func TestSockDiagIsAskedForWhicheverSocketHasTheAddresses(t *testing.T) {
	b := sockDiagRequest(1, unix.AF_INET, peer4)
	if len(b) != nlHeader+diagRequest || !bytes.HasSuffix(b, bytes.Repeat([]byte{0xff}, 8)) {
		t.Errorf("the request ends in % x", b[len(b)-8:])
	}
}
