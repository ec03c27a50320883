{{- define "tacho.labels" -}}
app.kubernetes.io/name: tacho-katib
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "tacho.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "tacho.jobRules" -}}
- apiGroups: [batch]
  resources: [jobs]
  verbs: {{ .verbs }}
- apiGroups: [kubeflow.org]
  resources: [tfjobs, pytorchjobs, mpijobs, xgboostjobs]
  verbs: {{ .verbs }}
- apiGroups: [trainer.kubeflow.org]
  resources: [trainjobs]
  verbs: {{ .verbs }}
- apiGroups: [jobset.x-k8s.io]
  resources: [jobsets]
  verbs: {{ .verbs }}
{{- range .root.Values.trialResources }}
- apiGroups: [{{ .group | quote }}]
  resources: [{{ .resource }}]
  verbs: {{ $.verbs }}
{{- end }}
{{- end }}

{{- define "tacho.pod" -}}
serviceAccountName: tacho-{{ .component }}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets: {{ toJson . }}
{{- end }}
terminationGracePeriodSeconds: 30
securityContext: {runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532, fsGroup: 65532, seccompProfile: {type: RuntimeDefault}}
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
      - weight: 100
        podAffinityTerm:
          topologyKey: kubernetes.io/hostname
          labelSelector:
            matchLabels:
              {{- include "tacho.labels" . | nindent 14 }}
{{- end }}

{{- define "tacho.container" -}}
image: {{ include "tacho.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
env:
  - {name: KATIB_CORE_NAMESPACE, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
  - {name: POD_NAME, valueFrom: {fieldRef: {fieldPath: metadata.name}}}
readinessProbe: {httpGet: {path: /readyz, port: health}, periodSeconds: 5}
livenessProbe: {httpGet: {path: /healthz, port: health}, periodSeconds: 10, failureThreshold: 6}
securityContext: {allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: {drop: [ALL]}}
{{- end }}
