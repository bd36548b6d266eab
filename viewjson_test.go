package pasar

import (
	"encoding/json"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"
)

// TestAViewIsEncodedAsItsTagsSay compares the written-out encoder with encoding/json over random
// views, with every field of every type both set and unset.
func TestAViewIsEncodedAsItsTagsSay(t *testing.T) {
	type plain JobView // without the method
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		var v JobView
		fillRandom(reflect.ValueOf(&v).Elem(), rnd, i%3 == 0)
		got, err1 := json.Marshal(v)
		want, err2 := json.Marshal(plain(v))
		if err1 != nil || err2 != nil {
			t.Fatal(err1, err2)
		}
		if string(got) != string(want) {
			t.Fatalf("view %d:\n got %s\nwant %s", i, got, want)
		}
		type outlook OutlookView
		got, err1 = json.Marshal(v.Outlook())
		want, err2 = json.Marshal(outlook(v.Outlook()))
		if err1 != nil || err2 != nil || string(got) != string(want) {
			t.Fatalf("outlook %d:\n got %s, %v\nwant %s, %v", i, got, err1, want, err2)
		}
	}
}

var texts = []string{"", "plain", `"quoted" \`, "<a&b>", "\x1b[0m\n", "größe", "\xff\xfe", "a\u2028b", "~\x7f"}

// fillRandom sets a value at random; sparse leaves most pointers and lists unset.
func fillRandom(v reflect.Value, rnd *rand.Rand, sparse bool) {
	skip := func() bool { return rnd.IntN(4) == 0 || sparse && rnd.IntN(3) > 0 }
	if v.Type() == reflect.TypeFor[time.Time]() {
		v.Set(reflect.ValueOf(time.Unix(rnd.Int64N(2e9), rnd.Int64N(1e9)).UTC()))
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		if !skip() {
			v.Set(reflect.New(v.Type().Elem()))
			fillRandom(v.Elem(), rnd, sparse)
		}
	case reflect.Slice:
		if !skip() {
			n := rnd.IntN(3)
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fillRandom(v.Index(i), rnd, sparse)
			}
		}
	case reflect.Map:
		if !skip() {
			v.Set(reflect.MakeMap(v.Type()))
			value := reflect.New(v.Type().Elem()).Elem()
			fillRandom(value, rnd, sparse)
			v.SetMapIndex(reflect.ValueOf("loss").Convert(v.Type().Key()), value)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			fillRandom(v.Field(i), rnd, sparse)
		}
	case reflect.String:
		v.SetString(texts[rnd.IntN(len(texts))])
	case reflect.Int, reflect.Int64:
		v.SetInt(rnd.Int64N(1e12) - 1e6)
	case reflect.Float64:
		v.SetFloat(rnd.Float64() * 1e6)
	case reflect.Bool:
		v.SetBool(rnd.IntN(2) == 0)
	default:
		panic("fillRandom: " + v.Type().String())
	}
}

func BenchmarkEncodeWaitingView(b *testing.B) {
	sentence, why := "waits for a GPU held by #41, 17 ahead", "gpu"
	v := JobView{Schema: 1, ID: 42, Name: "train", State: Queued, Reason: &why, Summary: &sentence, Bid: 1000,
		QueueTime: time.Unix(1e9, 5).UTC(), Created: time.Unix(1e9, 5).UTC(), Claim: Claim{Kind: Whole, GPUs: 1}.View(),
		GPUs: []GPURef{}, Waiting: &WaitingView{Why: WaitGPU, Sentence: sentence, Ahead: 17, Holders: []JobID{41}},
		Attempts: []AttemptView{}, Command: "python train.py --lr 0.1", Argv: Args([]string{"python", "train.py", "--lr", "0.1"}),
		Cwd: "/home/ada/project", Submitter: "ada", Tags: []string{}}
	var buf []byte
	for b.Loop() {
		buf, _ = v.AppendJSON(buf[:0])
	}
}
