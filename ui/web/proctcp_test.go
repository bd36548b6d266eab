package web

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// The lists as a little-endian machine has them.
const (
	head  = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
	line4 = "   0: 0100007F:FFFF 0200007F:0050 01 00000000:00000000 00:00000000 00000000  1000        0 4321 1 0000000000000000 20 0 0 10 -1\n"
	mapd4 = "   0: 0000000000000000FFFF00000100007F:FFFF 0000000000000000FFFF00000200007F:0050 01 00000000:00000000 00:00000000 00000000  1000        0 4321 1 0000000000000000 20 0 0 10 -1\n"
	line6 = "   0: 00000000000000000000000001000000:1234 00000000000000000000000001000000:0050 01 00000000:00000000 00:00000000 00000000  1000        0 4321 1 0000000000000000 20 0 0 10 -1\n"
)

// needLittle skips a test whose lists are written as a little-endian machine's.
func needLittle(t testing.TB) {
	if string(procAddr(peer4.own, 4)) != "0100007F:FFFF" {
		t.Skip("this machine is big-endian")
	}
}

func TestTheListsOfSocketsAreRead(t *testing.T) {
	needLittle(t)
	with := func(old, new string) string {
		if !strings.Contains(line4, old) {
			t.Fatalf("%q isn't in the line", old)
		}
		return head + strings.Replace(line4, old, new, 1)
	}
	for _, c := range []struct {
		name  string
		list  string
		width int
		asked tcpEnds
		uid   int // -1 is nobody
	}{
		{"IPv4", head + line4, 4, peer4, 1000},
		{"mapped", head + mapd4, 16, peer4, 1000},
		{"IPv6", head + line6, 16, peer6, 1000},
		{"lower case", strings.ToLower(head + mapd4), 16, peer4, 1000},
		{"no spaces to spare", with("   0: ", "0: "), 4, peer4, 1000},
		{"no heading", line4, 4, peer4, 1000},
		{"nothing after the inode", with(" 1 0000000000000000 20 0 0 10 -1", ""), 4, peer4, 1000},
		{"after others", head + strings.Repeat(strings.Replace(line4, "FFFF", "FFFE", 1), 1000) + line4, 4, peer4, 1000},
		{"after garbage", head + "\x00\xff\n\n   \n:::\n" + line4, 4, peer4, 1000},
		{"after a closed one of that name", with(" 01 ", " 06 ") + line4, 4, peer4, 1000},
		{"after a huge line", head + strings.Repeat("x", 10*procLine) + "\n" + line4, 4, peer4, 1000},
		{"the largest uid", with(" 1000 ", " 4294967295 "), 4, peer4, 4294967295},
		{"a large inode", with(" 4321 ", " 18446744073709551615 "), 4, peer4, 1000},
		{"root", with(" 1000 ", " 0 "), 4, peer4, 0},

		{"nothing", "", 4, peer4, -1},
		{"a heading", head, 4, peer4, -1},
		{"the wrong list", head + line4, 16, peer4, -1},
		{"IPv6 in the list of IPv4", head + line6, 4, peer6, -1},
		{"TIME_WAIT", with(" 01 ", " 06 "), 4, peer4, -1},
		{"FIN_WAIT2", with(" 01 ", " 05 "), 4, peer4, -1},
		{"CLOSE_WAIT", with(" 01 ", " 08 "), 4, peer4, -1},
		{"listening", with(" 01 ", " 0A "), 4, peer4, -1},
		{"a state of 257", with(" 01 ", " 101 "), 4, peer4, -1},
		{"no state", with(" 01 ", " zz "), 4, peer4, -1},
		{"no owner", with(" 4321 ", " 0 "), 4, peer4, -1},
		{"an inode that is no number", with(" 4321 ", " 43x1 "), 4, peer4, -1},
		{"an inode beyond 64 bits", with(" 4321 ", " 18446744073709551616 "), 4, peer4, -1},
		{"a uid that is no number", with(" 1000 ", " root "), 4, peer4, -1},
		{"a negative uid", with(" 1000 ", " -1 "), 4, peer4, -1},
		{"a uid beyond 32 bits", with(" 1000 ", " 4294967296 "), 4, peer4, -1},
		{"our own end", with("0100007F:FFFF 0200007F:0050", "0200007F:0050 0100007F:FFFF"), 4, peer4, -1},
		{"another port", with(":0050", ":0051"), 4, peer4, -1},
		{"a port beyond 16 bits", with(":FFFF", ":1FFFF"), 4, peer4, -1},
		{"another address", with("0100007F", "0300007F"), 4, peer4, -1},
		{"the address the other way round", with("0100007F", "7F000001"), 4, peer4, -1},
		{"a line cut before the inode", with(" 4321 1 0000000000000000 20 0 0 10 -1", ""), 4, peer4, -1},
		{"a list cut in the inode", head + line4[:strings.Index(line4, "4321")+2], 4, peer4, -1},
		{"within a huge line", head + strings.Repeat("x", procLine) + line4, 4, peer4, -1},
		{"before a huge rest", with("\n", strings.Repeat(" x", procLine)+"\n"), 4, peer4, -1},
		{"two lines run together", with(" 01 ", "\n 01 "), 4, peer4, -1},
	} {
		uid, ok, err := readProcTCP(strings.NewReader(c.list), c.width, c.asked)
		if uid != c.uid || ok != (c.uid >= 0) || err != nil {
			t.Errorf("%s: uid %d, %v, %v; want %d", c.name, uid, ok, err, c.uid)
		}
	}
}

func TestAListThatCannotBeReadIsAnError(t *testing.T) {
	broken := errors.New("broken")
	uid, ok, err := readProcTCP(io.MultiReader(strings.NewReader(head), iotest.ErrReader(broken)), 4, peer4)
	if uid != -1 || ok || !errors.Is(err, broken) {
		t.Errorf("uid %d, %v, %v; want the error", uid, ok, err)
	}
}

func FuzzProcTCP(f *testing.F) {
	for _, l := range []string{line4, mapd4, line6, strings.ToLower(mapd4), strings.Replace(line4, " 4321 ", " 0 ", 1)} {
		f.Add([]byte(head + l))
	}
	f.Add([]byte(head + strings.Repeat("x", procLine) + "\n" + line4))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, s := range []tcpEnds{peer4, peer6} {
			for _, width := range []int{4, 16} {
				uid, ok, err := readProcTCP(bytes.NewReader(b), width, s)
				if err != nil || ok != (uid >= 0) {
					t.Fatalf("uid %d, %v, %v", uid, ok, err)
				}
				// What is found stands there in the kernel's form, on one line.
				want := append(append(procAddr(s.own, width), ' '), procAddr(s.far, width)...)
				joined := bytes.Join(bytes.Fields(b), []byte(" "))
				if ok && !bytes.Contains(bytes.ToUpper(joined), want) {
					t.Errorf("found %s where it isn't: %q", want, b)
				}
				u2, ok2, _ := readProcTCP(iotest.OneByteReader(bytes.NewReader(b)), width, s)
				if u2 != uid || ok2 != ok {
					t.Errorf("read byte by byte: uid %d, %v; at once: %d, %v", u2, ok2, uid, ok)
				}
			}
		}
	})
}
