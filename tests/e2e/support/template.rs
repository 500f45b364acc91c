//! A synthesised template, as far as the tests read it: what a function may do, and what it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde_json::Value;

/// An action such as `sqs:SendMessage`, and the name of what it is done to.
pub(crate) type Right = (String, String);

pub(crate) struct Template {
    resources: BTreeMap<String, Value>,
}

impl Template {
    /// A golden template of `infra/test/golden`, which the infrastructure app's own tests keep true.
    pub(crate) fn golden(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../infra/test/golden");
        let text = std::fs::read_to_string(folder.join(format!("{name}.template.json"))).unwrap();
        let mut template: Value = serde_json::from_str(&text).unwrap();
        Self { resources: serde_json::from_value(template["Resources"].take()).unwrap() }
    }

    /// Every queue's name.
    pub(crate) fn queues(&self) -> Vec<String> {
        let queues = self.resources.values().filter(|resource| resource["Type"] == "AWS::SQS::Queue");
        queues.map(|queue| queue["Properties"]["QueueName"].as_str().unwrap().to_owned()).collect()
    }

    /// The variables that a function is given, where their values stand in the template or name one
    /// of its tables.
    pub(crate) fn environment(&self, function: &str) -> BTreeMap<String, String> {
        let variables = self.function(function)["Environment"]["Variables"].as_object().unwrap().clone();
        let known = |value: &Value| {
            value.as_str().map(str::to_owned).or_else(|| Some(self.name(value["Ref"].as_str()?)))
        };
        variables.iter().filter_map(|(name, value)| Some((name.clone(), known(value)?))).collect()
    }

    /// Everything that a function's role allows.
    pub(crate) fn rights(&self, function: &str) -> BTreeSet<Right> {
        let role = self.function(function)["Role"]["Fn::GetAtt"][0].clone();
        let policies = self.resources.values().filter(|resource| {
            resource["Type"] == "AWS::IAM::Policy"
                && resource["Properties"]["Roles"].as_array().unwrap().iter().any(|one| one["Ref"] == role)
        });
        let mut rights = BTreeSet::new();
        for statement in policies
            .flat_map(|policy| policy["Properties"]["PolicyDocument"]["Statement"].as_array().unwrap())
        {
            assert_eq!(statement["Effect"], "Allow");
            for action in list(&statement["Action"]) {
                for resource in list(&statement["Resource"]) {
                    let logical = resource["Fn::GetAtt"][0].as_str().unwrap();
                    rights.insert((action.as_str().unwrap().to_owned(), self.name(logical)));
                }
            }
        }
        rights
    }

    fn function(&self, name: &str) -> &Value {
        let functions = self.resources.values().map(|resource| &resource["Properties"]);
        functions.into_iter().find(|properties| properties["FunctionName"] == name).unwrap()
    }

    /// The name that AWS knows a resource by.
    fn name(&self, logical: &str) -> String {
        let properties = &self.resources[logical]["Properties"];
        let names = ["QueueName", "TableName", "LogGroupName"];
        names.iter().find_map(|name| properties[*name].as_str()).unwrap_or(logical).to_owned()
    }
}

fn list(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_else(|| vec![value.clone()])
}
