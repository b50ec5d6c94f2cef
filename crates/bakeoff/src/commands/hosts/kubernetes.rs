//! `bakeoff hosts --kubernetes`: a Job whose pods are the hosts, and the file of hosts that goes
//! with it.

use clap::Args;

/// What is to be printed for a cluster.
#[derive(Debug, Args)]
pub struct Cluster {
    /// Print a Job for Kubernetes whose N pods are the hosts, and their hosts.toml
    #[arg(long, value_name = "N", requires = "image",
        value_parser = clap::value_parser!(u32).range(1..=1000))]
    kubernetes: Option<u32>,
    /// The image of these pods, as debian:12
    #[arg(long, value_parser = plain_word, requires = "kubernetes")]
    image: Option<String>,
    /// The node of the server, which no pod shares. Without it: this machine
    #[arg(long, value_name = "NAME", value_parser = plain_word, requires = "kubernetes")]
    server_node: Option<String>,
}

/// A word that stands in YAML as it is, in quotation marks.
fn plain_word(text: &str) -> Result<String, String> {
    let is_plain = |it: char| it.is_ascii_alphanumeric() || "-_./:@".contains(it);
    if !text.is_empty() && text.chars().all(is_plain) {
        return Ok(text.into());
    }
    Err("this is a word of letters, digits, and - _ . / : @ in between".into())
}

impl Cluster {
    /// The text, if one is asked for.
    ///
    /// # Errors
    /// Where this machine's name can't be read, and none was given.
    pub fn manifest(&self) -> Result<Option<String>, String> {
        let Some((hosts, image)) = self.kubernetes.zip(self.image.as_deref()) else {
            return Ok(None);
        };
        let node = match &self.server_node {
            Some(node) => node.clone(),
            None => this_machine()?,
        };
        Ok(Some(manifest(hosts, image, &node)))
    }
}

fn this_machine() -> Result<String, String> {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname");
    let name = name.map_err(|error| error.to_string()).and_then(|name| plain_word(name.trim()));
    name.map_err(|error| format!("this machine's name: {error}; give --server-node"))
}

fn manifest(hosts: u32, image: &str, node: &str) -> String {
    let job = include_str!("kubernetes.yaml")
        .replace("@HOSTS@", &hosts.to_string())
        .replace("@IMAGE@", &format!("{image:?}"))
        .replace("@NODE@", &format!("{node:?}"));
    let hosts = (0..hosts).map(|number| {
        // A pod's name ends with letters of chance. Its number is a label.
        format!(
            "#|\n#| [host.pod-{number}]\n#| reach = ['sh', '-c', 'exec kubectl exec -i \"$(kubectl \
             get pod -o name -l app=bakeoff,batch.kubernetes.io/job-completion-index={number})\" \
             -- \"$@\"', 'sh']\n"
        )
    });
    job + "#\n#| # hosts.toml: docs/hosts.md\n" + &hosts.collect::<String>()
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn the_manifest_is_the_one_that_was_looked_at() {
        insta::assert_snapshot!(manifest(2, "debian:12", "node-7"));
    }

    /// Else the file that the manifest's head says how to make would be refused, or lead to
    /// other pods.
    #[test]
    fn the_file_of_hosts_in_it_is_one() {
        let text = manifest(12, "debian:12", "node-7");
        let lines = text.lines().filter_map(|line| line.strip_prefix("#|"));
        let lines: String = lines.map(|line| format!("{}\n", line.trim_start())).collect();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("hosts.toml");
        std::fs::write(&path, lines).unwrap();
        let hosts = file::read(&path).unwrap().hosts;
        assert_eq!(hosts.len(), 12);
        for host in &hosts {
            let number = host.name.strip_prefix("pod-").unwrap();
            let label = format!("job-completion-index={number})");
            assert!(host.reach[2].contains(&label), "{}: {:?}", host.name, host.reach);
        }
    }

    #[test]
    fn what_would_be_another_line_of_it_is_refused() {
        for (word, is_good) in
            [("ghcr.io/a/b:1.2@sha256:ab", true), ("a\nb: c", false), ("a\"b", false), ("", false)]
        {
            assert_eq!(plain_word(word).is_ok(), is_good, "{word:?}");
        }
    }
}
