// SPDX-License-Identifier: Apache-2.0

package realnode

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Write is something that appeared or went, as inotify reported it.
type Write struct {
	What string
	At   time.Time
}

// Writes records what the kubelet and the runtime write.
type Writes struct {
	fd      int
	mu      sync.Mutex
	folders map[int32]string
	seen    []Write
}

// NewWrites begins to record, for as long as the process lives.
func NewWrites(kubelet, cgroups string) (*Writes, error) {
	fd, err := syscall.InotifyInit1(syscall.IN_CLOEXEC)
	if err != nil {
		return nil, err
	}
	w := &Writes{fd: fd, folders: map[int32]string{}}
	for _, folder := range []string{kubelet, kubelet + "/device-plugins", kubelet + "/pods", cgroups + "/kubepods.slice"} {
		if err := w.watch(folder); err != nil {
			return nil, &os.PathError{Op: "watch", Path: folder, Err: err}
		}
	}
	go w.read()
	return w, nil
}

func (w *Writes) watch(folder string) error {
	watch, err := syscall.InotifyAddWatch(w.fd, folder, syscall.IN_CREATE|syscall.IN_MOVED_TO|syscall.IN_DELETE)
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.folders[int32(watch)] = folder
	w.mu.Unlock()
	return nil
}

func (w *Writes) read() {
	buffer := make([]byte, 64<<10)
	for {
		n, err := syscall.Read(w.fd, buffer)
		if err != nil {
			if err == syscall.EINTR {
				continue
			}
			return
		}
		now := time.Now()
		for at := 0; at+syscall.SizeofInotifyEvent <= n; {
			watch := int32(binary.NativeEndian.Uint32(buffer[at:]))
			mask := binary.NativeEndian.Uint32(buffer[at+4:])
			length := int(binary.NativeEndian.Uint32(buffer[at+12:]))
			at += syscall.SizeofInotifyEvent
			name := strings.TrimRight(string(buffer[at:at+length]), "\x00")
			at += length
			w.mu.Lock()
			folder := w.folders[watch]
			w.mu.Unlock()
			w.event(folder, name, mask, now)
		}
	}
}

// event gives what happened its name.
func (w *Writes) event(folder, name string, mask uint32, now time.Time) {
	path := filepath.Join(folder, name)
	created := mask&(syscall.IN_CREATE|syscall.IN_MOVED_TO) != 0
	what := ""
	switch {
	case strings.HasSuffix(name, ".slice"):
		what = "the pod's cgroup"
		if created {
			w.watch(path)
			// A container's that was made before the watch was.
			scopes, _ := filepath.Glob(filepath.Join(path, "cri-containerd-*.scope"))
			for range scopes {
				w.add("created a container's cgroup", now)
			}
		}
	case strings.HasSuffix(name, ".scope"):
		what = "a container's cgroup"
	case filepath.Base(folder) == "pods":
		what = "the pod's folder"
	case mask&syscall.IN_MOVED_TO != 0 && !strings.HasPrefix(name, "."):
		w.add("wrote "+name, now)
		return
	default:
		return
	}
	if created {
		w.add("created "+what, now)
	} else {
		w.add("removed "+what, now)
	}
}

func (w *Writes) add(what string, at time.Time) {
	w.mu.Lock()
	w.seen = append(w.seen, Write{what, at})
	w.mu.Unlock()
}

// Since are the writes since a time, each kind with its number among its like: "wrote cpu_manager_state 2".
func (w *Writes) Since(from time.Time) (writes []Write) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, write := range w.seen {
		if write.At.After(from) {
			writes = append(writes, write)
		}
	}
	return writes
}
