package proc

import "testing"

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (a) b) (c) S 1 7 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1000 10"))
	f.Add([]byte("7 (x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := parseStat(7, b)
		if err == nil && e.PID != 7 {
			t.Errorf("pid %d", e.PID)
		}
	})
}

func TestParseStat(t *testing.T) {
	e, err := parseStat(7, []byte("7 (a) b) (c) Z 3 5 7 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4242 1000 10\n"))
	want := entry{Identity: Identity{7, 4242}, parent: 3, group: 5, zombie: true}
	if err != nil || e != want {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := parseStat(7, []byte("7 (a) S 1 2 3")); err == nil {
		t.Error("a short line passed")
	}
}
