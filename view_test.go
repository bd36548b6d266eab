package pasar

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestAViewNeverLacksAKey(t *testing.T) {
	seen := map[reflect.Type]bool{}
	for _, v := range []any{JobView{}, StatusView{}, GPUsView{}, PlanView{}, StatsView{}, ApprovalsView{}, MetricsView{}, ChangesView{}, GPUHistoryView{}} {
		checkKeys(t, reflect.TypeOf(v), seen)
	}
	if len(seen) < 15 {
		t.Errorf("only %d types were looked at", len(seen))
	}
}

func checkKeys(t *testing.T, typ reflect.Type, seen map[reflect.Type]bool) {
	t.Helper()
	for typ.Kind() == reflect.Pointer || typ.Kind() == reflect.Slice || typ.Kind() == reflect.Map {
		typ = typ.Elem()
	}
	if typ.Kind() != reflect.Struct || seen[typ] || typ == reflect.TypeFor[time.Time]() {
		return
	}
	seen[typ] = true
	if typ.Implements(reflect.TypeFor[json.Marshaler]()) && typ != reflect.TypeFor[JobView]() {
		return // writes its own keys; see the test of events, and that of views for JobView
	}
	for i := range typ.NumField() {
		f := typ.Field(i)
		tag := f.Tag.Get("json")
		if strings.Contains(tag, "omit") {
			t.Errorf("%s.%s: the key would be missing when it is unknown; it must be null", typ.Name(), f.Name)
		}
		if name, _, _ := strings.Cut(tag, ","); !f.Anonymous && (name == "" || name != strings.ToLower(name)) {
			t.Errorf("%s.%s: key %q is not snake_case", typ.Name(), f.Name, name)
		}
		checkKeys(t, f.Type, seen)
	}
}

func TestAnEventHasEveryKeyInJSON(t *testing.T) {
	b, err := json.Marshal(Event{Kind: EventCheckpoint, At: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)})
	want := `{"event":"checkpoint","at":"2026-01-02T03:04:05Z","step":null,"total_steps":null,"path":null,"text":null,"metrics":null}`
	if err != nil || string(b) != want {
		t.Errorf("got  %s, %v\nwant %s", b, err, want)
	}
	var e Event
	if err := json.Unmarshal(b, &e); err != nil || !reflect.DeepEqual(e, Event{Kind: EventCheckpoint, At: e.At}) {
		t.Errorf("read back: %+v, %v", e, err)
	}
}

func TestAnUnaskedClaimIsNull(t *testing.T) {
	b, err := json.Marshal(Claim{Kind: Whole, GPUs: 1}.View())
	want := `{"kind":"whole","gpus":1,"mem":null,"limit":null,"ram":null,"type":null,"ids":null,"external":null,"auto":false}`
	if err != nil || string(b) != want {
		t.Errorf("got  %s, %v\nwant %s", b, err, want)
	}
}
