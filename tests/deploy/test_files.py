"""The files of ``deploy/`` are valid by the schemas of those who read them, and agree with the code and each other."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.conf import settings

from tests.support.tools import find_tool, run_tool

pytestmark = pytest.mark.long

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
YAML_FILES = sorted(DEPLOY.rglob("*.yaml"))
COMPOSE_FILES = sorted(DEPLOY.glob("compose*.yaml"))
# The kinds of the operator CloudNativePG have no schema here.
KUBERNETES_FILES = sorted(
    path
    for path in (DEPLOY / "kubernetes").rglob("*.yaml")
    if path.name != "kustomization.yaml" and path.parts[-2:] != ("cloudnativepg", "cluster.yaml")
)
DOCKERFILES = sorted(DEPLOY.rglob("Dockerfile"))
UNITS = sorted(path for path in (DEPLOY / "systemd").iterdir())
LOCKED = "make lock and install requirements/dev.txt"


def read_yaml(path: Path) -> list[Any]:
    return [document for document in yaml.safe_load_all(path.read_text()) if document]


def walk(value: Any) -> Iterator[tuple[str, Any]]:
    """Every key with its value, at any depth."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield key, inner
            yield from walk(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from walk(inner)


def list_commands(kind: str) -> list[str]:
    """What is started, a line each: by compose, Kubernetes, or systemd."""
    if kind == "systemd":
        joined = "\n".join(path.read_text().replace("\\\n", " ") for path in UNITS)
        return [re.sub(r"\s+", " ", line).replace("=", " ") for line in re.findall(r"^ExecStart=(.*)", joined, re.M)]
    files = COMPOSE_FILES if kind == "compose" else KUBERNETES_FILES
    found = [value for path in files for part in read_yaml(path) for key, value in walk(part) if key == "command"]
    joined = [" ".join(map(str, command)).replace("=", " ") for command in found if isinstance(command, list)]
    return list(dict.fromkeys(joined))  # compose's anchors repeat them


def test_compose_files_are_valid() -> None:
    tool = find_tool("check-jsonschema", reason=LOCKED)
    run_tool(tool, "--builtin-schema", "vendor.compose-spec", *COMPOSE_FILES)


def test_kubernetes_files_are_valid() -> None:
    run_tool(find_tool("kubernetes-validate", reason=LOCKED), "--strict", *KUBERNETES_FILES)


def test_the_example_overlay_renders_and_what_it_renders_is_valid(tmp_path: Path) -> None:
    rendered = run_tool(find_tool("kubectl", reason="install kubectl"), "kustomize", DEPLOY / "kubernetes" / "example")
    (tmp_path / "all.yaml").write_text(rendered)
    run_tool(find_tool("kubernetes-validate", reason=LOCKED), "--strict", tmp_path / "all.yaml")
    assert "jiyi.example.org" not in rendered  # the overlay names its own host everywhere


def test_the_overlay_with_a_database_gives_its_url_to_every_container() -> None:
    tool = find_tool("kubectl", reason="install kubectl")
    rendered = run_tool(tool, "kustomize", DEPLOY / "kubernetes" / "cloudnativepg")
    parts = list(yaml.safe_load_all(rendered))
    (cluster,) = (part for part in parts if part["kind"] == "Cluster")
    (backup,) = (part for part in parts if part["kind"] == "ScheduledBackup")
    assert backup["spec"]["cluster"]["name"] == cluster["metadata"]["name"]
    assert backup["spec"]["pluginConfiguration"]["name"] == cluster["spec"]["plugins"][0]["name"]
    pods = [part["spec"]["template"]["spec"] for part in parts if "template" in part.get("spec", {})]
    containers = [one for pod in pods for one in [*pod["containers"], *pod.get("initContainers", ())]]
    assert len(containers) == 9
    for container in containers:
        (variable,) = container["env"]
        assert (variable["name"], variable["valueFrom"]["secretKeyRef"]) == (
            "DATABASE_URL",
            {"name": f"{cluster['metadata']['name']}-app", "key": "uri"},
        )
    (secret,) = (part for part in parts if part["kind"] == "Secret")
    assert "DATABASE_URL" not in secret["stringData"]


def test_compose_proxy_shares_one_network_with_the_web_processes() -> None:
    services = read_yaml(DEPLOY / "compose.yaml")[0]["services"]
    assert len(set(services["proxy"]["networks"]) & set(services["web"]["networks"])) == 1


def test_mounts_in_memory_use_no_option_of_docker_alone() -> None:
    found = [value for path in COMPOSE_FILES for part in read_yaml(path) for key, value in walk(part) if key == "tmpfs"]
    assert found
    assert not [mount for mounts in found for mount in mounts if "uid=" in mount or "gid=" in mount]


@pytest.mark.parametrize("folder", ["base", "cloudnativepg", "example"])
def test_a_kustomization_lists_every_file_beside_it(folder: str) -> None:
    path = DEPLOY / "kubernetes" / folder
    listed = set(read_yaml(path / "kustomization.yaml")[0]["resources"]) - {"../base", "../example"}
    assert listed == {file.name for file in path.glob("*.yaml")} - {"kustomization.yaml"}


def test_dockerfiles_are_valid() -> None:
    run_tool(find_tool("hadolint", reason=LOCKED), *DOCKERFILES)


def test_scripts_are_valid() -> None:
    scripts = sorted([*DEPLOY.rglob("*.sh"), *DEPLOY.rglob("*.envsh")])
    run_tool(find_tool("shellcheck", reason=LOCKED), *scripts)
    assert all(os.access(script, os.X_OK) for script in scripts)


def test_units_are_valid_and_locked_down(tmp_path: Path) -> None:
    analyze = find_tool("systemd-analyze", reason="apt-get install systemd")
    for path in UNITS:  # the programs are looked for; ours are installed elsewhere on another machine
        text = path.read_text().replace("/opt/jiyi/.venv/bin/", f"{Path(sys.executable).parent}/")
        (tmp_path / path.name).write_text(text.replace("User=jiyi", "User=nobody").replace("Group=jiyi", ""))
    instances = [str(tmp_path / path.name.replace("@.", "@8000.")) for path in UNITS]
    said = run_tool(analyze, "verify", "--man=no", *instances)
    assert "Unknown" not in said, said
    for path in tmp_path.glob("*.service"):  # 0 is safest, 100 is no restriction
        run_tool(analyze, "security", "--offline=true", "--threshold=25", "--no-pager", path)


@pytest.mark.parametrize("kind", ["compose", "kubernetes", "systemd"])
def test_every_queue_has_workers_and_there_is_one_beat(kind: str) -> None:
    commands = list_commands(kind)
    queues = ",".join(found for command in commands for found in re.findall(r"--queues (\S+)", command)).split(",")
    assert sorted(queues) == sorted(queue.name for queue in settings.CELERY_TASK_QUEUES)
    assert sum(" beat " in command for command in commands) == 1
    for command in commands:
        if " worker " in command:
            assert re.search(r"--hostname worker\S*@%%?h ", command), command
    assert any("manage.py migrate" in command for command in commands)


@pytest.mark.parametrize("kind", ["compose", "kubernetes", "systemd"])
def test_a_web_process_is_started_the_same_way_everywhere(kind: str) -> None:
    """The image's own command starts everything, so who runs its parts names a command for each."""
    (command,) = (command for command in list_commands(kind) if "uvicorn" in command)
    known = r"(uvicorn|--http|--no-access-log|--no-proxy-headers|--timeout-graceful-shutdown \d+)(?=\s|$)"
    found = sorted(re.findall(known, command))
    assert found == sorted(
        ["uvicorn", "--http", "--no-access-log", "--no-proxy-headers", "--timeout-graceful-shutdown 25"]
    )


def test_every_container_of_kubernetes_names_its_command() -> None:
    parts = [part for path in KUBERNETES_FILES for part in read_yaml(path)]
    pods = [part["spec"]["template"]["spec"] for part in parts if "template" in part.get("spec", {})]
    containers = [one for pod in pods for one in [*pod["containers"], *pod.get("initContainers", ())]]
    assert len(containers) == 9
    assert not [one["name"] for one in containers if not one.get("command")]


def test_compose_workers_have_host_names_of_their_own() -> None:
    services = read_yaml(DEPLOY / "compose.yaml")[0]["services"]
    workers = {name: service for name, service in services.items() if name.startswith("worker")}
    assert len(workers) >= 4
    assert [service["hostname"] for service in workers.values()] == list(workers)


def test_kubernetes_workers_are_stateful_sets_and_a_restart_needs_no_database() -> None:
    parts = [part for path in KUBERNETES_FILES for part in read_yaml(path)]
    kinds = {part["metadata"]["name"]: part["kind"] for part in parts if part["kind"] in ("Deployment", "StatefulSet")}
    assert kinds == {
        "jiyi-web": "Deployment",
        "jiyi-beat": "Deployment",
        "jiyi-worker": "StatefulSet",
        "jiyi-worker-model": "StatefulSet",
    }
    probes = {key: value["httpGet"]["path"] for part in parts for key, value in walk(part) if key.endswith("Probe")}
    assert probes == {"startupProbe": "/livez", "livenessProbe": "/livez", "readinessProbe": "/readyz"}
    (beat,) = (part for part in parts if part["metadata"]["name"] == "jiyi-beat")
    assert (beat["spec"]["replicas"], beat["spec"]["strategy"]) == (1, {"type": "Recreate"})


def test_nothing_runs_as_root_and_images_name_no_registry() -> None:
    for path in DOCKERFILES:
        assert re.search(r"^USER [1-9]\d*:[1-9]\d*$", path.read_text(), re.M), path
    for part in (part for path in KUBERNETES_FILES for part in read_yaml(path)):
        if template := part.get("spec", {}).get("template"):
            assert template["spec"]["securityContext"]["runAsNonRoot"] is True
            for container in [*template["spec"]["containers"], *template["spec"].get("initContainers", ())]:
                assert container["securityContext"]["allowPrivilegeEscalation"] is False
    images = [value for path in YAML_FILES for part in read_yaml(path) for key, value in walk(part) if key == "image"]
    images += [image for path in DOCKERFILES for image in re.findall(r"^FROM (\S+)", path.read_text(), re.M)]
    assert not [image for image in images if "." in str(image).split("/")[0].split(":")[0]]


def test_variables_of_the_example_are_known() -> None:
    known = (ROOT / ".env.example").read_text() + (DEPLOY / "compose.yaml").read_text()
    for name in re.findall(r"^#?([A-Z_]+)=", (DEPLOY / "env.example").read_text(), re.M):
        assert re.search(rf"\b{name}\b", known), name


def test_a_url_may_list_a_primary_and_its_standbys() -> None:
    from project.settings import env

    (url,) = re.findall(r"^DATABASE_URL=(.*,.*)$", (ROOT / "docs" / "deployment.md").read_text(), re.M)
    found = env.db_url_config(url)
    assert (found["HOST"], found["NAME"], found["USER"]) == ("db1,db2", "jiyi", "jiyi")
    assert found["OPTIONS"].pop("target_session_attrs") == "read-write"
    assert "tcp_user_timeout" in found["OPTIONS"]  # as numbers or texts: libpq takes both


def copy_context(target: Path) -> None:
    """Copy what ``.dockerignore`` lets the builder have."""
    patterns = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    for pattern in patterns:
        source = ROOT / pattern
        assert source.exists(), pattern
        if source.is_dir():
            shutil.copytree(source, target / pattern, ignore=shutil.ignore_patterns("__pycache__", "*.mo"))
        else:
            (target / pattern).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target / pattern)


def test_what_goes_into_the_image_is_enough_to_run(tmp_path: Path) -> None:
    copy_context(tmp_path)
    environment = {"SECRET_KEY": "build", "PATH": os.environ["PATH"], "JIYI_DATA_DIR": str(tmp_path / "data")}
    prefix = ["env", "-i", *(f"{name}={value}" for name, value in environment.items()), sys.executable]
    run_tool(*prefix, "manage.py", "compilemessages", cwd=tmp_path)
    assert list(tmp_path.glob("locale/*/LC_MESSAGES/*.mo"))
    run_tool(*prefix, "-c", "import project.asgi, project.celery", cwd=tmp_path)


@pytest.mark.parametrize(
    ("allowed", "host"),
    [("", "127.0.0.1"), ("*", "127.0.0.1"), ("a.example, b.example", "a.example"), (".example.org", "example.org")],
)
def test_a_probe_names_a_host_that_is_let_in(allowed: str, host: str) -> None:
    assert runpy.run_path(str(DEPLOY / "probe.py"))["find_host"](allowed) == host
