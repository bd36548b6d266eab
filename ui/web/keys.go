package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"pasar"
	"pasar/ipc"
)

// keys is the token, and the cookies that are made from it. The file is read each time that it is asked for, since
// another program of the same user may have replaced it; it is small, and the page cache has it.
type keys struct {
	file string
	mu   sync.Mutex // guards the making of the file
}

const (
	tokenPrefix = "pasar_" // so that a token is known for what it is where it turns up
	maxToken    = 256      // bytes read of the file
	cookieFor   = 30 * 24 * time.Hour
)

func openKeys(file string) (*keys, error) {
	k := &keys{file: file}
	if _, err := k.token(); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	} else if err == nil {
		return k, nil
	}
	return k, k.renew()
}

// token is the token. A file that others may read is refused: what it holds may be known.
func (k *keys) token() (string, error) {
	f, err := os.Open(k.file)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	defer f.Close()
	fi, err := f.Stat()
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	if fi.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s has mode %04o, so others can read it: remove it, and `pasar token --new` makes another", k.file, fi.Mode().Perm())
	}
	b := make([]byte, maxToken)
	n, _ := f.Read(b)
	t := strings.TrimSpace(string(b[:n]))
	if len(t) < 20 {
		return "", fmt.Errorf("%s holds no token: remove it, and `pasar token --new` makes another", k.file)
	}
	return t, nil
}

// renew replaces the token.
func (k *keys) renew() error {
	k.mu.Lock()
	defer k.mu.Unlock()
	f, err := os.CreateTemp(filepath.Dir(k.file), ".token-") // 0600
	if err != nil {
		return k.unmade(err)
	}
	_, err = f.WriteString(tokenPrefix + rand.Text() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), k.file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return k.unmade(err)
	}
	return nil
}

// unmade says that no token could be made.
func (k *keys) unmade(err error) error {
	hint := "the token that there was still holds; see to that directory, and ask again"
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		hint = "the token that there was still holds; free the disk, and ask again"
	}
	var en syscall.Errno
	if errors.As(err, &en) {
		err = en
	}
	return refuse(ipc.CodeUnavailable, hint, "can't write a token in %s: %v", pasar.Clean(filepath.Dir(k.file)), err)
}

// is reports whether a word is the token, in a time that says nothing of it.
func (k *keys) is(word string) bool {
	t, err := k.token()
	return err == nil && subtle.ConstantTimeCompare([]byte(t), []byte(word)) == 1
}

// signIn makes a cookie, whose value shows until a time that its browser was signed in, and the key that goes with it.
// They need no memory: a daemon that was started anew knows them, and a new token ends them.
func (k *keys) signIn(until time.Time) (*http.Cookie, string, error) {
	t, err := k.token()
	if err != nil {
		return nil, "", err
	}
	body := strconv.FormatInt(until.Unix(), 10) + "." + rand.Text()
	value := body + "." + sign(t, body)
	c := &http.Cookie{Name: cookieName(t), Value: value, Path: "/", Expires: until, HttpOnly: true, SameSite: http.SameSiteStrictMode}
	return c, pageKey(t, value), nil
}

// cookieName is one of this token's own: a browser has one set of cookies for all ports of a host, and what is forwarded
// from several machines comes from one host.
func cookieName(token string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte("cookie name"))
	return "pasar-" + hex.EncodeToString(m.Sum(nil)[:4])
}

// isCookie reports whether a word is a cookie made from a token, and still good.
func isCookie(token, word string, now time.Time) bool {
	i := strings.LastIndexByte(word, '.')
	if i < 0 || !hmac.Equal([]byte(sign(token, word[:i])), []byte(word[i+1:])) {
		return false
	}
	until, _, _ := strings.Cut(word, ".")
	sec, err := strconv.ParseInt(until, 10, 64)
	return err == nil && now.Before(time.Unix(sec, 0))
}

// pageKey is what a page of a browser with a cookie shows besides: 64 hexadecimal digits. A browser sends a cookie to
// every port of a host; the key is kept by the page, which gives it to its own origin alone.
func pageKey(token, cookie string) string {
	m := hmac.New(sha256.New, []byte(token))
	m.Write([]byte("page " + cookie))
	return hex.EncodeToString(m.Sum(nil))
}

// Where a page shows its key: in a header, or, since a WebSocket has none of its own, as one more subprotocol.
const (
	keyHeader   = "Pasar-Key"
	keyProtocol = "key."
)

// shown says what a request shows of having been signed in: a cookie, and with it the key of a page. The browser may have
// several cookies of the name, since other servers of the host can set them: each is looked at.
func (k *keys) shown(r *http.Request, now time.Time) (cookie, key bool) {
	if r.Header.Get("Cookie") == "" {
		return false, false
	}
	t, err := k.token()
	if err != nil {
		return false, false
	}
	offered := []string{r.Header.Get(keyHeader)}
	for _, v := range r.Header.Values("Sec-WebSocket-Protocol") {
		for w := range strings.SplitSeq(v, ",") {
			if key, ok := strings.CutPrefix(strings.TrimSpace(w), keyProtocol); ok {
				offered = append(offered, key)
			}
		}
	}
	for _, c := range r.CookiesNamed(cookieName(t)) {
		if !isCookie(t, c.Value, now) {
			continue
		}
		cookie = true
		want := []byte(pageKey(t, c.Value))
		key = key || slices.ContainsFunc(offered, func(o string) bool { return hmac.Equal(want, []byte(o)) })
	}
	return cookie, key
}

func sign(token, body string) string {
	m := hmac.New(sha256.New, []byte("pasar web cookie "+token))
	m.Write([]byte(body))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// codes are words that let something be done once, within a time.
type codes struct {
	last time.Duration // how long each is good for
	mu   sync.Mutex    // guards open
	open map[string]time.Time
}

const (
	linkFor  = 10 * time.Minute // to sign a browser in
	saveFor  = time.Minute      // to save something as a file
	maxCodes = 100              // the oldest go
)

func newCodes(last time.Duration) *codes { return &codes{last: last, open: map[string]time.Time{}} }

// forget makes them all worthless.
func (l *codes) forget() {
	l.mu.Lock()
	defer l.mu.Unlock()
	clear(l.open)
}

func (l *codes) make(now time.Time) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	oldest := ""
	for c, until := range l.open {
		if now.After(until) {
			delete(l.open, c)
		} else if oldest == "" || until.Before(l.open[oldest]) {
			oldest = c
		}
	}
	if len(l.open) >= maxCodes {
		delete(l.open, oldest)
	}
	code := rand.Text()
	l.open[code] = now.Add(l.last)
	return code
}

// use reports whether a code is good, which it then no longer is.
func (l *codes) use(code string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.open[code]
	delete(l.open, code)
	return ok && now.Before(until)
}
