package submission

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"pasar"
)

// claimWords reads words as a form has them; an empty one was not said.
func claimWords(t *testing.T, mem, gpus, ids, typ, external string) ClaimWords {
	t.Helper()
	var w ClaimWords
	keep := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	if mem != "" {
		m, err := ParseMemory(mem)
		keep(err)
		w.Mem = &m
	}
	if gpus != "" {
		n, err := ParseCount(gpus)
		keep(err)
		w.GPUs = &n
	}
	if ids != "" {
		l, err := ParseGPUs(ids)
		keep(err)
		w.IDs = &l
	}
	if typ != "" {
		w.Type = &typ
	}
	if external != "" {
		e, err := ParseExternal(external)
		keep(err)
		w.External = &e
	}
	return w
}

func TestAClaimIsWhatTheWordsTogetherMean(t *testing.T) {
	slice := pasar.Claim{Kind: pasar.Slice, GPUs: 2, Mem: pasar.GiB, RAM: pasar.GiB}
	for _, tc := range []struct {
		what      string
		from      pasar.Claim
		words     ClaimWords
		want      pasar.Claim
		complaint string
	}{
		{"nothing said", Default(), ClaimWords{}, pasar.Claim{Kind: pasar.Whole, GPUs: 1}, ""},
		{"a slice", Default(), claimWords(t, "24G", "", "", "", ""), pasar.Claim{Kind: pasar.Slice, GPUs: 1, Mem: 24 * pasar.GiB}, ""},
		{"what history knows", Default(), claimWords(t, "Auto", "2", "", "", ""), pasar.Claim{Kind: pasar.Slice, GPUs: 2, Auto: true}, ""},
		{"no GPU keeps the host memory", slice, claimWords(t, "", "0", "", "", ""), pasar.Claim{Kind: pasar.NoGPU, RAM: pasar.GiB}, ""},
		{"named GPUs are all of them", Default(), claimWords(t, "", "", "0, 3", "", ""), pasar.Claim{Kind: pasar.Whole, GPUs: 2, IDs: []string{"0", "3"}}, ""},
		{"or so many of them", Default(), claimWords(t, "", "1", "0,3", "", ""), pasar.Claim{Kind: pasar.Whole, GPUs: 1, IDs: []string{"0", "3"}}, ""},
		{"any again", pasar.Claim{Kind: pasar.Whole, GPUs: 1, IDs: []string{"3"}}, claimWords(t, "", "", " ", "", ""), pasar.Claim{Kind: pasar.Whole, GPUs: 1}, ""},
		{"a kind", Default(), claimWords(t, "", "", "", "H100", "avoid"), pasar.Claim{Kind: pasar.Whole, GPUs: 1, Type: "H100", External: pasar.ExternalAvoid}, ""},
		{"a slice of none", Default(), claimWords(t, "2G", "0", "", "", ""), slice, "--mem is a slice of a GPU"},
		{"a slice of nothing", Default(), claimWords(t, "0G", "", "", "", ""), slice, "--mem 0 claims nothing"},
		{"named GPUs and none", Default(), claimWords(t, "", "0", "0", "", ""), slice, "--gpu-ids names GPUs"},
		{"a kind and none", Default(), claimWords(t, "", "0", "", "H100", ""), slice, "--gpu-type is about GPUs"},
		{"more than are named", Default(), claimWords(t, "", "3", "0,1", "", ""), slice, "--gpus 3 asks for more than the 2"},
		{"strangers on a slice", Default(), claimWords(t, "2G", "", "", "", "avoid"), slice, "--external is about whole GPUs"},
	} {
		got, err := tc.words.Apply(tc.from)
		if tc.complaint != "" {
			var e *Error
			if !errors.As(err, &e) || !strings.HasPrefix(e.Message, tc.complaint) {
				t.Errorf("%s: %+v, %v", tc.what, got, err)
			}
		} else if err != nil || !reflect.DeepEqual(got, tc.want) {
			t.Errorf("%s: %+v, %v", tc.what, got, err)
		}
	}
}

func FuzzParseGPUs(f *testing.F) {
	for _, s := range []string{"0,3", "GPU-4b5f", " ", "0,0", "MIG-12345"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		ids, err := ParseGPUs(s)
		if err != nil && len(ids) > 0 {
			t.Errorf("%q: %q and %v", s, ids, err)
		}
		for _, id := range ids {
			if id == "" || strings.Contains(id, ",") {
				t.Errorf("%q names %q", s, id)
			}
		}
	})
}
