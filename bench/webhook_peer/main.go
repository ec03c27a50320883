// Katib's own pod webhook (its SidecarInjector behind controller-runtime's admission handler) over the same objects and the same
// TLS as bench_inject serves, for the ratio in bench.py. Objects come from a table in memory, as from the cache of its manager.
//
//	katib-webhook FIXTURE.json CONFIG.json CERTIFICATE KEY   prints its port, serves until stdin ends
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"reflect"

	experiments "github.com/kubeflow/katib/pkg/apis/controller/experiments/v1beta1"
	suggestions "github.com/kubeflow/katib/pkg/apis/controller/suggestions/v1beta1"
	trials "github.com/kubeflow/katib/pkg/apis/controller/trials/v1beta1"
	"github.com/kubeflow/katib/pkg/webhook/v1beta1/pod"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// table answers Get as the manager's cache does: a deep copy of what is in memory.
type table struct {
	client.Client
	objects map[string]client.Object
}

func (t table) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := into.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = reflect.TypeOf(into).Elem().Name()
	}
	found, ok := t.objects[kind+"/"+key.Namespace+"/"+key.Name]
	if !ok {
		return errors.NewNotFound(schema.GroupResource{Resource: kind}, key.Name)
	}
	reflect.ValueOf(into).Elem().Set(reflect.ValueOf(found.DeepCopyObject()).Elem())
	return nil
}

func (t table) put(text []byte, into client.Object) {
	if err := json.Unmarshal(text, into); err != nil {
		log.Fatal(err)
	}
	kind := into.GetObjectKind().GroupVersionKind().Kind
	t.objects[kind+"/"+into.GetNamespace()+"/"+into.GetName()] = into
}

func read(path string) []byte {
	text, err := os.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	return text
}

func main() {
	scheme := runtime.NewScheme()
	if err := core.AddToScheme(scheme); err != nil {
		log.Fatal(err)
	}
	objects := table{fake.NewClientBuilder().WithScheme(scheme).Build(), map[string]client.Object{}}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(read(os.Args[1]), &parts); err != nil {
		log.Fatal(err)
	}
	objects.put(parts["trial"], &trials.Trial{})
	objects.put(parts["suggestion"], &suggestions.Suggestion{})
	objects.put([]byte(`{"kind":"Experiment","metadata":{"name":"random","namespace":"team"}}`), &experiments.Experiment{})
	objects.put(parts["job"], &unstructured.Unstructured{})
	objects.put(read(os.Args[2]), &core.ConfigMap{})

	injector := pod.NewSidecarInjector(objects, admission.NewDecoder(scheme))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(listener.Addr().(*net.TCPAddr).Port)
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	log.Fatal(http.ServeTLS(listener, &webhook.Admission{Handler: injector}, os.Args[3], os.Args[4]))
}
