// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `apiextensions/v1`.

use crate::declare::prelude::*;

structs! {
    CustomResourceColumnDefinition CustomResourceColumnDefinitionMut {
        description = "description": Text<'v, 'p>, Text<'static, 'static>;
        format = "format": Text<'v, 'p>, Text<'static, 'static>;
        json_path = "jsonPath": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        priority = "priority": Integer<'v, 'p>, Integer<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    CustomResourceConversion CustomResourceConversionMut {
        strategy = "strategy": Text<'v, 'p>, Text<'static, 'static>;
        webhook = "webhook": WebhookConversion<'v, 'p>, WebhookConversionMut<'m>;
    }
}

structs! {
    WebhookConversion WebhookConversionMut {
        client_config = "clientConfig": WebhookClientConfig<'v, 'p>, WebhookClientConfigMut<'m>;
        conversion_review_versions = "conversionReviewVersions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    WebhookClientConfig WebhookClientConfigMut {
        ca_bundle = "caBundle": Bytes<'v, 'p>, Bytes<'static, 'static>;
        service = "service": ServiceReference<'v, 'p>, ServiceReferenceMut<'m>;
        url = "url": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ServiceReference ServiceReferenceMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        port = "port": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

kinds! {
    CustomResourceDefinition CustomResourceDefinitionMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": CustomResourceDefinitionSpec<'v, 'p>, CustomResourceDefinitionSpecMut<'m>;
        status = "status": CustomResourceDefinitionStatus<'v, 'p>, CustomResourceDefinitionStatusMut<'m>;
    }
}

structs! {
    CustomResourceDefinitionSpec CustomResourceDefinitionSpecMut {
        conversion = "conversion": CustomResourceConversion<'v, 'p>, CustomResourceConversionMut<'m>;
        group = "group": Text<'v, 'p>, Text<'static, 'static>;
        names = "names": CustomResourceDefinitionNames<'v, 'p>, CustomResourceDefinitionNamesMut<'m>;
        preserve_unknown_fields = "preserveUnknownFields": Boolean<'v, 'p>, Boolean<'static, 'static>;
        scope = "scope": Text<'v, 'p>, Text<'static, 'static>;
        versions = "versions": List<CustomResourceDefinitionVersion<'v, 'p>>, List<CustomResourceDefinitionVersionMut<'m>>;
    }
}

structs! {
    CustomResourceDefinitionNames CustomResourceDefinitionNamesMut {
        categories = "categories": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        list_kind = "listKind": Text<'v, 'p>, Text<'static, 'static>;
        plural = "plural": Text<'v, 'p>, Text<'static, 'static>;
        short_names = "shortNames": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        singular = "singular": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    CustomResourceDefinitionVersion CustomResourceDefinitionVersionMut {
        additional_printer_columns = "additionalPrinterColumns": List<CustomResourceColumnDefinition<'v, 'p>>, List<CustomResourceColumnDefinitionMut<'m>>;
        deprecated = "deprecated": Boolean<'v, 'p>, Boolean<'static, 'static>;
        deprecation_warning = "deprecationWarning": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        schema = "schema": CustomResourceValidation<'v, 'p>, CustomResourceValidationMut<'m>;
        selectable_fields = "selectableFields": List<SelectableField<'v, 'p>>, List<SelectableFieldMut<'m>>;
        served = "served": Boolean<'v, 'p>, Boolean<'static, 'static>;
        storage = "storage": Boolean<'v, 'p>, Boolean<'static, 'static>;
        subresources = "subresources": CustomResourceSubresources<'v, 'p>, CustomResourceSubresourcesMut<'m>;
    }
}

structs! {
    CustomResourceValidation CustomResourceValidationMut {
        open_apiv3_schema = "openAPIV3Schema": JSONSchemaProps<'v, 'p>, JSONSchemaPropsMut<'m>;
    }
}

structs! {
    JSONSchemaProps JSONSchemaPropsMut {
        r#ref = "$ref": Text<'v, 'p>, Text<'static, 'static>;
        schema = "$schema": Text<'v, 'p>, Text<'static, 'static>;
        additional_items = "additionalItems": Raw<'v, 'p>, Raw<'static, 'static>;
        additional_properties = "additionalProperties": Raw<'v, 'p>, Raw<'static, 'static>;
        all_of = "allOf": List<JSONSchemaProps<'v, 'p>>, List<JSONSchemaPropsMut<'m>>;
        any_of = "anyOf": List<JSONSchemaProps<'v, 'p>>, List<JSONSchemaPropsMut<'m>>;
        default = "default": Raw<'v, 'p>, Raw<'static, 'static>;
        definitions = "definitions": Map<JSONSchemaProps<'v, 'p>>, Map<JSONSchemaPropsMut<'m>>;
        dependencies = "dependencies": Map<Raw<'v, 'p>>, Map<Raw<'static, 'static>>;
        description = "description": Text<'v, 'p>, Text<'static, 'static>;
        r#enum = "enum": List<Raw<'v, 'p>>, List<Raw<'static, 'static>>;
        example = "example": Raw<'v, 'p>, Raw<'static, 'static>;
        exclusive_maximum = "exclusiveMaximum": Boolean<'v, 'p>, Boolean<'static, 'static>;
        exclusive_minimum = "exclusiveMinimum": Boolean<'v, 'p>, Boolean<'static, 'static>;
        external_docs = "externalDocs": ExternalDocumentation<'v, 'p>, ExternalDocumentationMut<'m>;
        format = "format": Text<'v, 'p>, Text<'static, 'static>;
        id = "id": Text<'v, 'p>, Text<'static, 'static>;
        items = "items": Raw<'v, 'p>, Raw<'static, 'static>;
        max_items = "maxItems": Integer<'v, 'p>, Integer<'static, 'static>;
        max_length = "maxLength": Integer<'v, 'p>, Integer<'static, 'static>;
        max_properties = "maxProperties": Integer<'v, 'p>, Integer<'static, 'static>;
        maximum = "maximum": Double<'v, 'p>, Double<'static, 'static>;
        min_items = "minItems": Integer<'v, 'p>, Integer<'static, 'static>;
        min_length = "minLength": Integer<'v, 'p>, Integer<'static, 'static>;
        min_properties = "minProperties": Integer<'v, 'p>, Integer<'static, 'static>;
        minimum = "minimum": Double<'v, 'p>, Double<'static, 'static>;
        multiple_of = "multipleOf": Double<'v, 'p>, Double<'static, 'static>;
        not = "not": JSONSchemaProps<'v, 'p>, JSONSchemaPropsMut<'m>;
        nullable = "nullable": Boolean<'v, 'p>, Boolean<'static, 'static>;
        one_of = "oneOf": List<JSONSchemaProps<'v, 'p>>, List<JSONSchemaPropsMut<'m>>;
        pattern = "pattern": Text<'v, 'p>, Text<'static, 'static>;
        pattern_properties = "patternProperties": Map<JSONSchemaProps<'v, 'p>>, Map<JSONSchemaPropsMut<'m>>;
        properties = "properties": Map<JSONSchemaProps<'v, 'p>>, Map<JSONSchemaPropsMut<'m>>;
        required = "required": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        title = "title": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
        unique_items = "uniqueItems": Boolean<'v, 'p>, Boolean<'static, 'static>;
        x_kubernetes_embedded_resource = "x-kubernetes-embedded-resource": Boolean<'v, 'p>, Boolean<'static, 'static>;
        x_kubernetes_int_or_string = "x-kubernetes-int-or-string": Boolean<'v, 'p>, Boolean<'static, 'static>;
        x_kubernetes_list_map_keys = "x-kubernetes-list-map-keys": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        x_kubernetes_list_type = "x-kubernetes-list-type": Text<'v, 'p>, Text<'static, 'static>;
        x_kubernetes_map_type = "x-kubernetes-map-type": Text<'v, 'p>, Text<'static, 'static>;
        x_kubernetes_preserve_unknown_fields = "x-kubernetes-preserve-unknown-fields": Boolean<'v, 'p>, Boolean<'static, 'static>;
        x_kubernetes_validations = "x-kubernetes-validations": List<ValidationRule<'v, 'p>>, List<ValidationRuleMut<'m>>;
    }
}

structs! {
    ExternalDocumentation ExternalDocumentationMut {
        description = "description": Text<'v, 'p>, Text<'static, 'static>;
        url = "url": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ValidationRule ValidationRuleMut {
        field_path = "fieldPath": Text<'v, 'p>, Text<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        message_expression = "messageExpression": Text<'v, 'p>, Text<'static, 'static>;
        optional_old_self = "optionalOldSelf": Boolean<'v, 'p>, Boolean<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        rule = "rule": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    CustomResourceSubresources CustomResourceSubresourcesMut {
        scale = "scale": CustomResourceSubresourceScale<'v, 'p>, CustomResourceSubresourceScaleMut<'m>;
        status = "status": CustomResourceSubresourceStatus<'v, 'p>, CustomResourceSubresourceStatusMut<'m>;
    }
}

structs! {
    CustomResourceSubresourceStatus CustomResourceSubresourceStatusMut {
    }
}

structs! {
    CustomResourceSubresourceScale CustomResourceSubresourceScaleMut {
        label_selector_path = "labelSelectorPath": Text<'v, 'p>, Text<'static, 'static>;
        spec_replicas_path = "specReplicasPath": Text<'v, 'p>, Text<'static, 'static>;
        status_replicas_path = "statusReplicasPath": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    SelectableField SelectableFieldMut {
        json_path = "jsonPath": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    CustomResourceDefinitionStatus CustomResourceDefinitionStatusMut {
        accepted_names = "acceptedNames": CustomResourceDefinitionNames<'v, 'p>, CustomResourceDefinitionNamesMut<'m>;
        conditions = "conditions": List<CustomResourceDefinitionCondition<'v, 'p>>, List<CustomResourceDefinitionConditionMut<'m>>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
        stored_versions = "storedVersions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    CustomResourceDefinitionCondition CustomResourceDefinitionConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    ConversionReview ConversionReviewMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        request = "request": ConversionRequest<'v, 'p>, ConversionRequestMut<'m>;
        response = "response": ConversionResponse<'v, 'p>, ConversionResponseMut<'m>;
    }
}

structs! {
    ConversionRequest ConversionRequestMut {
        desired_api_version = "desiredAPIVersion": Text<'v, 'p>, Text<'static, 'static>;
        objects = "objects": List<Raw<'v, 'p>>, List<Raw<'static, 'static>>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ConversionResponse ConversionResponseMut {
        converted_objects = "convertedObjects": List<Raw<'v, 'p>>, List<Raw<'static, 'static>>;
        result = "result": crate::meta::v1::StatusPart<'v, 'p>, crate::meta::v1::StatusPartMut<'m>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
    }
}

