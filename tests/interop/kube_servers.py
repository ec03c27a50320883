"""A real Kubernetes API: etcd from Debian, kube-apiserver and kubectl built from the Go module proxy in a module of their own. No kubelet,
no scheduler, no controllers: nothing runs and nothing is collected."""
import json
import os
import re
import subprocess

from common import WORK, debian, free_port, fresh, run, say, start, until

VERSION = "1.34.4"
HOME = WORK / "kubernetes"


def build():
    """kube-apiserver and kubectl, once. k8s.io/kubernetes names its own staging modules as v0.0.0: each is replaced by its release."""
    bin_folder = HOME / "bin"
    if (bin_folder / "kube-apiserver").exists() and (bin_folder / "kubectl").exists():
        return bin_folder
    HOME.mkdir(parents=True, exist_ok=True)
    env = {**os.environ, "GOFLAGS": "-mod=mod -buildvcs=false", "CGO_ENABLED": "0"}
    say(f"building Kubernetes {VERSION} (some ten minutes on two cores)")
    found = json.loads(run("go", "mod", "download", "-json", f"k8s.io/kubernetes@v{VERSION}", cwd=HOME, env={**env, "GOFLAGS": ""}, timeout=1800))
    with open(found["GoMod"], encoding="utf-8") as file:
        text = file.read()
    staging = sorted(set(re.findall(r"^\s*(k8s\.io/\S+) => \./staging", text, re.M)))
    go = re.search(r"^go (\S+)", text, re.M)[1]
    release = "v0." + VERSION.split(".", 1)[1]
    (HOME / "go.mod").write_text(f"module interop\n\ngo {go}\n\nrequire k8s.io/kubernetes v{VERSION}\n\nreplace (\n"
                                 + "".join(f"\t{name} => {name} {release}\n" for name in staging) + ")\n")
    (HOME / "tools.go").write_text('//go:build tools\n\npackage interop\n\nimport (\n\t_ "k8s.io/kubernetes/cmd/kube-apiserver"\n'
                                   '\t_ "k8s.io/kubernetes/cmd/kubectl"\n)\n')
    run("go", "mod", "tidy", "-e", cwd=HOME, env=env, timeout=1800)
    major, minor, _ = VERSION.split(".")
    flags = " ".join(f"-X k8s.io/component-base/version.git{key}={value}" for key, value in (("Version", "v" + VERSION), ("Major", major), ("Minor", minor)))
    for name in ("kube-apiserver", "kubectl"):
        run("nice", "-n", "10", "go", "build", "-p", "1", "-ldflags", f"-s -w {flags}", "-o", bin_folder / name, f"k8s.io/kubernetes/cmd/{name}", cwd=HOME, env=env,
            timeout=7200)
    return bin_folder


def crd(group, version, plural, kind):
    return {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": f"{plural}.{group}"},
            "spec": {"group": group, "scope": "Namespaced", "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
                     "versions": [{"name": version, "served": True, "storage": True, "subresources": {"status": {}},
                                   "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}}]}}


CRDS = [crd("kubeflow.org", "v1beta1", "trials", "Trial"), crd("kubeflow.org", "v1beta1", "experiments", "Experiment"),
        crd("kubeflow.org", "v1beta1", "suggestions", "Suggestion"), crd("kubeflow.org", "v1", "pytorchjobs", "PyTorchJob"),
        crd("kubeflow.org", "v1", "tfjobs", "TFJob"), crd("kubeflow.org", "v1", "mpijobs", "MPIJob"), crd("kubeflow.org", "v1", "xgboostjobs", "XGBoostJob"),
        crd("trainer.kubeflow.org", "v1alpha1", "trainjobs", "TrainJob"), crd("jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet")]


class Kubernetes:
    """The running API with its kubeconfigs."""

    def __init__(self):
        debian("etcd-server", "openssl")
        self.bin = build()
        self.dir = fresh("kubernetes-run")
        self.port = free_port()
        self._certificates()
        self._etcd()
        self.restart()
        self.config("admin")
        until(lambda: "ok" == self.kubectl("get", "--raw", "/readyz", rc=None).strip(), 120, "kube-apiserver ready")
        for name in ("inject", "trials"):
            self.config(name)

    def _openssl(self, *words):
        subprocess.run(["openssl", *words], cwd=self.dir, check=True, stdin=subprocess.DEVNULL, capture_output=True)

    def certificate(self, name, subject, extension):
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
        self._openssl("req", *key, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", subject)
        (self.dir / f"{name}.ext").write_text(extension + "\n")
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "3", "-out", f"{name}.pem",
                      "-extfile", f"{name}.ext")

    def _certificates(self):
        self._openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", "-days", "3",
                      "-subj", "/CN=interop-ca")
        self.certificate("server", "/CN=kube-apiserver", "subjectAltName=IP:127.0.0.1,IP:10.0.0.1,DNS:localhost")
        self.certificate("admin", "/O=system:masters/CN=admin", "extendedKeyUsage=clientAuth")
        # The users of the service accounts that the manifests bind: so their RBAC is what is tested.
        for name in ("inject", "trials"):
            self.certificate(name, f"/CN=system:serviceaccount:kubeflow:tacho-{name}", "extendedKeyUsage=clientAuth")
        self._openssl("genrsa", "-out", "sa.key", "2048")
        self._openssl("rsa", "-in", "sa.key", "-pubout", "-out", "sa.pub")

    def _etcd(self):
        self.etcd_port, peer = free_port(), free_port()
        url = f"http://127.0.0.1:{self.etcd_port}"
        start("etcd", "--data-dir", self.dir / "etcd", "--listen-client-urls", url, "--advertise-client-urls", url,
              "--listen-peer-urls", f"http://127.0.0.1:{peer}", "--initial-advertise-peer-urls", f"http://127.0.0.1:{peer}",
              "--initial-cluster", f"default=http://127.0.0.1:{peer}", log="etcd.log", env={**os.environ, "ETCD_UNSUPPORTED_ARCH": ""})

    def restart(self):
        self.server = start(self.bin / "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{self.etcd_port}", "--service-cluster-ip-range=10.0.0.0/24",
                            f"--cert-dir={self.dir}/certs", "--bind-address=127.0.0.1", f"--secure-port={self.port}", "--authorization-mode=RBAC",
                            f"--client-ca-file={self.dir}/ca.pem", f"--tls-cert-file={self.dir}/server.pem", f"--tls-private-key-file={self.dir}/server.key",
                            "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={self.dir}/sa.pub",
                            f"--service-account-signing-key-file={self.dir}/sa.key", "--disable-admission-plugins=ServiceAccount", "--allow-privileged=true",
                            log="kube-apiserver.log")

    def config(self, name):
        (self.dir / f"{name}.conf").write_text(f"""apiVersion: v1
kind: Config
current-context: c
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: "https://127.0.0.1:{self.port}", certificate-authority: {self.dir}/ca.pem}}}}]
users: [{{name: u, user: {{client-certificate: {self.dir}/{name}.pem, client-key: {self.dir}/{name}.key}}}}]
""")
        return self.dir / f"{name}.conf"

    def kubectl(self, *words, rc=0, stdin=None, user="admin"):
        return run(self.bin / "kubectl", "--kubeconfig", self.dir / f"{user}.conf", *words, rc=rc, **({"input": stdin} if stdin is not None else {}))

    def apply(self, *objects):
        return self.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": list(objects)}))

    def get(self, kind, name, ns=None):
        """The object; None when there is none."""
        text = self.kubectl("get", kind, name, *(["-n", ns] if ns else []), "-o", "json", "--ignore-not-found")
        return json.loads(text) if text.strip() else None

    def install_crds(self):
        self.apply(*CRDS)
        for entry in CRDS:
            self.kubectl("wait", "--for=condition=Established", "--timeout=60s", f"crd/{entry['metadata']['name']}")
