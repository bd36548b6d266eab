package web

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
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
		return fmt.Errorf("make token: %w", err)
	}
	_, err = f.WriteString(tokenPrefix + rand.Text() + "\n")
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), k.file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("make token: %w", err)
	}
	return nil
}

// is reports whether a word is the token, in a time that says nothing of it.
func (k *keys) is(word string) bool {
	t, err := k.token()
	return err == nil && subtle.ConstantTimeCompare([]byte(t), []byte(word)) == 1
}

// cookie is a word that shows, until a time, that its browser was signed in. It needs no memory: a daemon that was
// started anew knows it, and a new token ends it.
func (k *keys) cookie(until time.Time) (string, error) {
	t, err := k.token()
	if err != nil {
		return "", err
	}
	body := strconv.FormatInt(until.Unix(), 10) + "." + rand.Text()
	return body + "." + sign(t, body), nil
}

func (k *keys) isCookie(word string, now time.Time) bool {
	i := strings.LastIndexByte(word, '.')
	t, err := k.token()
	if err != nil || i < 0 || !hmac.Equal([]byte(sign(t, word[:i])), []byte(word[i+1:])) {
		return false
	}
	until, _, _ := strings.Cut(word, ".")
	sec, err := strconv.ParseInt(until, 10, 64)
	return err == nil && now.Before(time.Unix(sec, 0))
}

func sign(token, body string) string {
	m := hmac.New(sha256.New, []byte("pasar web cookie "+token))
	m.Write([]byte(body))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}

// links are the codes of links that sign a browser in, each once.
type links struct {
	mu   sync.Mutex // guards open
	open map[string]time.Time
}

const (
	linkFor  = 10 * time.Minute
	maxLinks = 100 // the oldest go
)

func (l *links) make(now time.Time) string {
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
	if len(l.open) >= maxLinks {
		delete(l.open, oldest)
	}
	code := rand.Text()
	l.open[code] = now.Add(linkFor)
	return code
}

// use reports whether a code is good, which it then no longer is.
func (l *links) use(code string, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	until, ok := l.open[code]
	delete(l.open, code)
	return ok && now.Before(until)
}
